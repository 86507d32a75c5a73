import { CircleHelp, Download, MessageSquare, Pencil, Power } from 'lucide-react'
import type { ReactNode } from 'react'
import type { LiveModel } from '../../../../src/api/admin/live-schemas.ts'
import { linkTo } from '../../links.ts'
import { useModel, useReplicas, useRules } from '../../live/use-live.ts'
import { Button, ButtonLink } from '../../parts/button.tsx'
import { Empty } from '../../parts/notice.tsx'
import { Page, Panel } from '../../parts/page.tsx'
import { LoadNotice } from './load-notice.tsx'
import { ModelFiles, ModelSettings } from './model-facts.tsx'
import { ModelFigures } from './model-figures.tsx'
import { ModelMenu } from './model-menu.tsx'
import style from './model-page.module.css'
import { ModelStatus } from './model-status.tsx'
import { ModelReplicas } from './model-replicas.tsx'
import { RuleSummary } from './rule-summary.tsx'
import { useModelActions } from './use-model-actions.tsx'

export function ModelPage({ name }: { name: string }): ReactNode {
  const model = useModel(name)
  if (!model) return <Unknown name={name} />
  return <Known model={model} />
}

function Known({ model }: { model: LiveModel }): ReactNode {
  const { name, state, engine } = model
  const replicas = useReplicas().filter(({ model_name: of }) => of === name)
  const { load, unload, isBusy } = useModelActions(model)
  return (
    <Page
      title={name}
      heading={
        <>
          {name} <ModelStatus model={model} />
        </>
      }
      about={`${engine} · ${model.source ?? 'no source'}`}
      actions={
        <>
          {state === 'ready' || state === 'starting' ? (
            <Button icon={Power} busy={isBusy} onClick={() => void unload()}>
              Unload everywhere
            </Button>
          ) : (
            <Button icon={Download} tone="primary" busy={isBusy} onClick={load}>
              Load
            </Button>
          )}
          <ButtonLink to={linkTo.editModel(name)} icon={Pencil}>
            Edit
          </ButtonLink>
          <ButtonLink to={linkTo.playground(name)} icon={MessageSquare}>
            Playground
          </ButtonLink>
          <ButtonLink to={linkTo.whyModel(name)} icon={CircleHelp}>
            Why
          </ButtonLink>
          <ModelMenu model={model} replicas={replicas} />
        </>
      }
    >
      {state !== 'ready' && <LoadNotice model={model} />}
      <ModelFigures model={model} />
      <ModelReplicas model={model} replicas={replicas} />
      <div className={style['columns']}>
        <div className={style['column']}>
          <RuleSummary modelName={name} />
          <ModelFiles model={model} />
        </div>
        <ModelSettings model={model} replicas={replicas} />
      </div>
    </Page>
  )
}

/** A rule may come before its model. */
function Unknown({ name }: { name: string }): ReactNode {
  const hasRule = useRules().some(({ model_name: of }) => of === name)
  return (
    <Page title={name}>
      <Panel>
        <Empty
          action={
            <ButtonLink to={`/add-model?name=${encodeURIComponent(name)}`} tone="primary">
              Add it
            </ButtonLink>
          }
        >
          There is no model “{name}”.{hasRule && ' There is a rule for it, which waits until it is added.'}
        </Empty>
      </Panel>
    </Page>
  )
}
