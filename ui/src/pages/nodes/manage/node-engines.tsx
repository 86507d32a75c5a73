import { useEffect, useState, type ReactNode } from 'react'
import type { BackendView, NodeView } from '../../../../../src/api/admin/schemas.ts'
import { useAnswer } from '../../../api/use-answer.ts'
import { ActionsHead } from '../../../parts/actions-head.tsx'
import { Failure } from '../../../parts/notice.tsx'
import { Spinner } from '../../../parts/spinner.tsx'
import table from '../../../parts/table.module.css'
import { isUnderWay, type Asked } from './engine-facts.ts'
import { EngineRow } from './engine-row.tsx'
import style from './node-engines.module.css'

/** The engines of a node, asked for when somebody looks. */
export function NodeEngines({ node }: { node: NodeView }): ReactNode {
  const engines = useAnswer('listBackends', { params: { id: node.id } }, { follows: true })
  const [asked, setAsked] = useState<Asked>({})
  const isBusy = engines.data?.some((engine) => isUnderWay(engine, asked)) ?? false
  const { refetch } = engines
  useEffect(() => {
    // How far an engine is comes with heartbeats, and the live stream says when there was one.
    if (isBusy) void refetch()
  }, [isBusy, node.last_heartbeat, refetch])
  const onAsked = (engine: BackendView): void => {
    if (engine.operation) setAsked({ ...asked, [engine.name]: engine.operation.id })
  }
  if (engines.error) return <Failure error={engines.error} onRetry={() => void refetch()} />
  if (!engines.data) return <Spinner label="Asking for the engines…" />
  if (engines.data.length === 0) return <p className={style['none']}>This node has not told of any engine yet.</p>
  return (
    <div className={style['scroll']}>
      <table className={`${table['table']} ${style['engines']}`} aria-label={`Engines on ${node.name}`}>
        <thead>
          <tr>
            <th scope="col">Engine</th>
            <th scope="col">State</th>
            <th scope="col">Version</th>
            <ActionsHead />
          </tr>
        </thead>
        <tbody>
          {engines.data.map((engine) => (
            <EngineRow
              key={engine.name}
              node={node}
              engine={engine}
              isBusy={isUnderWay(engine, asked)}
              onAsked={onAsked}
            />
          ))}
        </tbody>
      </table>
    </div>
  )
}
