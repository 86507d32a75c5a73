import type { ReactNode } from 'react'
import type { NodeView, ReplicaView } from '../../../../src/api/admin/schemas.ts'
import { useRules } from '../../live/use-live.ts'
import { ActionsHead } from '../../parts/actions-head.tsx'
import { Panel } from '../../parts/page.tsx'
import table from '../../parts/table.module.css'
import style from './node-replicas.module.css'
import { countByModel } from './replica-facts.ts'
import { ReplicaRow } from './replica-row.tsx'

/** What runs on a node. */
export function NodeReplicas({ node, replicas }: { node: NodeView; replicas: readonly ReplicaView[] }): ReactNode {
  const counts = countByModel(replicas)
  const ruled = new Set(useRules().map(({ model_name: name }) => name))
  if (replicas.length === 0) {
    return (
      <section className={style['empty']}>
        <h2>Running replicas</h2>
        <p>No replicas run on this node.</p>
      </section>
    )
  }
  return (
    <Panel flush title="Running replicas">
      <div className={style['scroll']}>
        <table className={`${table['table']} ${style['replicas']}`} aria-label={`Replicas on ${node.name}`}>
          <thead>
            <tr>
              <th scope="col">Model</th>
              <th scope="col">State</th>
              <th scope="col" className={table['number']}>
                In flight
              </th>
              <th scope="col">Memory</th>
              <th scope="col">Last used</th>
              <ActionsHead />
            </tr>
          </thead>
          <tbody>
            {replicas.map((replica) => (
              <ReplicaRow
                key={replica.id}
                node={node}
                replica={replica}
                siblings={counts.get(replica.model_name) ?? 1}
                isKeptByRule={ruled.has(replica.model_name)}
              />
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}
