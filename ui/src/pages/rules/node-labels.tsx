import { useState, type ReactNode } from 'react'
import { Link } from 'wouter'
import { linkTo } from '../../links.ts'
import { useNodes } from '../../live/use-live.ts'
import { Button } from '../../parts/button.tsx'
import { Disclosure } from '../../parts/disclosure.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { NodeStatus } from '../../parts/state-pills.tsx'
import { findLabelled, shownLabels } from './label-search.ts'
import style from './node-labels.module.css'
import tableStyle from './rules-table.module.css'

const FIRST = 5
const MORE = 20

/** Which labels there are to select nodes by. */
export function NodeLabels(): ReactNode {
  return (
    <Disclosure title="Labels of the nodes">
      <Labels />
    </Disclosure>
  )
}

function Labels(): ReactNode {
  const nodes = useNodes()
  const [query, setQuery] = useState('')
  const [most, setMost] = useState(FIRST)
  if (nodes.length === 0) return <p className={style['muted']}>There are no nodes yet, so there are no labels.</p>
  const found = findLabelled(nodes, query)
  const shown = found.slice(0, most)
  const search = (text: string): void => {
    setQuery(text)
    setMost(FIRST)
  }
  return (
    <div className={style['labels']}>
      <div className={style['tools']}>
        <SearchField label="Find nodes or labels" value={query} onChange={search} />
        <span className={style['muted']} role="status">
          {shown.length} of {found.length === nodes.length ? '' : `${found.length} found in `}
          {nodes.length} nodes
        </span>
      </div>
      {found.length === 0 && <p className={style['muted']}>No node has a name or a label like that.</p>}
      <ul className={style['cards']}>
        {shown.map((node) => {
          const labels = shownLabels(node)
          return (
            <li key={node.id} className={style['card']}>
              <div className={style['head']}>
                <Link href={linkTo.node(node.id)}>{node.name}</Link>
                {node.status !== 'healthy' && <NodeStatus status={node.status} />}
              </div>
              {labels.length === 0 ? (
                <p className={style['muted']}>No labels</p>
              ) : (
                <ul className={tableStyle['chips']}>
                  {labels.map(([key, value]) => (
                    <li key={key} className={tableStyle['chip']}>
                      {key}={value}
                    </li>
                  ))}
                </ul>
              )}
            </li>
          )
        })}
      </ul>
      {found.length > most && (
        <div>
          <Button onClick={() => setMost(most + MORE)}>Show {Math.min(MORE, found.length - most)} more</Button>
        </div>
      )}
    </div>
  )
}
