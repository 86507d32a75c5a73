import type { ReactNode } from 'react'
import { countText } from '../../format/figures.ts'
import { useReplicas, useRules } from '../../live/use-live.ts'
import { Notice } from '../../parts/notice.tsx'
import { Panel } from '../../parts/page.tsx'
import { PlanPreview } from '../../plan/plan-preview.tsx'
import { usePlan } from '../../plan/use-plan.ts'
import { bodyOfModel, type ModelDraft } from './model-draft.ts'
import style from './model-form.module.css'
import { replacedReplicas } from './replaced-replicas.ts'

/** What saving the model would do. */
export function ModelPreview({ draft, isValid }: { draft: ModelDraft; isValid: boolean }): ReactNode {
  return (
    <Panel title="What saving does">
      <div aria-live="polite" className={style['part']}>
        {isValid ? (
          <Following draft={draft} />
        ) : (
          <p className={style['muted']}>It is worked out as soon as the form is filled in.</p>
        )}
      </div>
    </Panel>
  )
}

function Following({ draft }: { draft: ModelDraft }): ReactNode {
  const body = bodyOfModel(draft)
  const replicas = useReplicas()
  const hasRule = useRules().some(({ model_name: name }) => name === body.name)
  const hasReplicas = replicas.some(({ model_name: name }) => name === body.name)
  // Without a rule nothing would start, and nothing be said of where it could: so a first request is imagined.
  const isImagined = !hasRule && !hasReplicas
  const plan = usePlan({
    models: [body],
    ...(isImagined ? { rules: [{ model_name: body.name, min_replicas: 1 }] } : {}),
  })
  const replaced = plan.data ? replacedReplicas(plan.data, body.name, replicas) : 0
  const isChanged = plan.data?.changes.some(({ noun, name }) => noun === 'model' && name === body.name) ?? true
  return (
    <>
      {!isChanged && <p>Nothing changes: it means the same as before.</p>}
      {replaced > 0 && (
        <Notice tone="warn">
          {countText(replaced, 'replica')} of the old revision{' '}
          {replaced === 1 ? 'is replaced' : 'are replaced one by one'}: a new one is started first where there is room
          for both.
        </Notice>
      )}
      {isImagined && <p>It has no rule: its first request loads it. If that came now:</p>}
      <PlanPreview plan={plan} modelName={body.name} quiet="No replica is started or stopped." />
    </>
  )
}
