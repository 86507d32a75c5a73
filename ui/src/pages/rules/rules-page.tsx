import { Plus, X } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { linkTo } from '../../links.ts'
import { useRules } from '../../live/use-live.ts'
import { Button } from '../../parts/button.tsx'
import { Empty } from '../../parts/notice.tsx'
import { Page, Panel } from '../../parts/page.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { NodeLabels } from './node-labels.tsx'
import { RuleForm } from './rule-form.tsx'
import { RulesTable } from './rules-table.tsx'

/** With fewer there is nothing to look for. */
const SEARCH_FROM = 8

/** The address says which form is open, so there is never more than one: `?model=` is a blank one. */
export function RulesPage(): ReactNode {
  const rules = useRules()
  const [params] = useSearchParams()
  const [, navigate] = useLocation()
  const [query, setQuery] = useState('')
  const opened = params.get('model')
  const close = (): void => navigate('/rules')
  const found = rules.filter(({ model_name: name }) => name.toLowerCase().includes(query.trim().toLowerCase()))
  return (
    <Page
      title="Rules"
      about="Which nodes run a model, and how many replicas of it there are."
      actions={
        opened === '' ? (
          <Button icon={X} onClick={close}>
            Close the form
          </Button>
        ) : (
          <Button icon={Plus} tone="primary" onClick={() => navigate(linkTo.rule(''))}>
            Add a rule
          </Button>
        )
      }
    >
      {opened !== null && <RuleForm key={opened} modelName={opened} onClose={close} />}
      <NodeLabels />
      {rules.length === 0 ? (
        opened === null && (
          <Panel>
            <Empty>
              There are no rules. Without one a model is loaded when it is asked for, on whichever node has room.
            </Empty>
          </Panel>
        )
      ) : (
        <Panel
          flush
          title="All rules"
          actions={rules.length >= SEARCH_FROM && <SearchField label="Find a rule" value={query} onChange={setQuery} />}
        >
          {found.length === 0 ? <Empty>No rule is for a model of that name.</Empty> : <RulesTable rules={found} />}
        </Panel>
      )}
    </Page>
  )
}
