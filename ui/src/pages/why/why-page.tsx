import { Search } from 'lucide-react'
import { useState, type FormEvent, type ReactNode } from 'react'
import { useLocation } from 'wouter'
import { linkTo } from '../../links.ts'
import { useModels, useNodes } from '../../live/use-live.ts'
import { Button } from '../../parts/button.tsx'
import { NameCombobox } from '../../parts/name-combobox.tsx'
import { Page, Panel } from '../../parts/page.tsx'
import { Timeline } from './timeline.tsx'
import style from './why-page.module.css'

/** Where one asks why, of a model, a node or a request. */
export function WhyPage(): ReactNode {
  const models = useModels()
  const nodes = useNodes()
  const [text, setText] = useState('')
  const [, navigate] = useLocation()
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    const asked = text.trim()
    if (asked === '') return
    const node = nodes.find(({ name, id }) => name === asked || id === asked)
    const model = models.find(({ name }) => name === asked)
    navigate(model ? linkTo.whyModel(asked) : node ? linkTo.whyNode(node.id) : linkTo.whyRequest(asked))
  }
  return (
    <Page title="Why" about="Why a model runs where it runs, what a node would take, how a request was routed.">
      <Panel>
        <form className={style['form']} onSubmit={submit}>
          <NameCombobox
            label="Model, node or request"
            value={text}
            onChange={setText}
            names={[...models.map(({ name }) => name), ...nodes.map(({ name }) => name)]}
            nothing="No model or node of this name: taken as the id of a request (its X-Request-Id)."
            hint="The id of a request is in the X-Request-Id header of its answer."
          />
          <Button tone="primary" icon={Search} type="submit" disabled={text.trim() === ''}>
            Explain
          </Button>
        </form>
      </Panel>
      <Timeline />
    </Page>
  )
}
