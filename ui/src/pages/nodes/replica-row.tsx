import { RotateCcw, ScrollText, Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { NodeView, ReplicaView } from '../../../../src/api/admin/schemas.ts'
import { linkTo } from '../../links.ts'
import { ActionMenu } from '../../parts/action-menu.tsx'
import { Ago } from '../../parts/ago.tsx'
import button from '../../parts/button.module.css'
import { Hint } from '../../parts/hint.tsx'
import { Pill } from '../../parts/pill.tsx'
import { ReplicaState } from '../../parts/state-pills.tsx'
import table from '../../parts/table.module.css'
import style from './node-replicas.module.css'
import { Progress } from './progress.tsx'
import { keyOf } from './replica-facts.ts'
import { ReplicaMemory } from './replica-memory.tsx'
import { ReplicaTrouble } from './replica-trouble.tsx'
import { useReplicaChanges } from './use-replica-changes.ts'

interface ReplicaRowProps {
  node: NodeView
  replica: ReplicaView
  /** Replicas of this model on the node, with this one. */
  siblings: number
  isKeptByRule: boolean
}

export function ReplicaRow({ node, replica, siblings, isKeptByRule }: ReplicaRowProps): ReactNode {
  const { restart, unload, unloadAll } = useReplicaChanges(node, replica, isKeptByRule)
  const { model_name: name, replica_index: index, state } = replica
  const isOneOfSeveral = siblings > 1
  const logs = isOneOfSeveral ? `Logs of ${name}, replica ${index}` : `Logs of ${name}`
  const hasTrouble = replica.error !== null || state === 'failed'
  return (
    <>
      <tr className={hasTrouble ? style['hasMore'] : ''}>
        <td>
          <span className={style['model']}>
            <Link href={linkTo.model(name)}>{name}</Link>
            {isOneOfSeveral && (
              <Pill tone="outline" role="img" aria-label={`replica ${index}`}>
                rep {index}
              </Pill>
            )}
          </span>
        </td>
        <td>
          <div className={style['state']}>
            {/* Not how far it is: that would be told every second. */}
            <span aria-live="polite">
              <ReplicaState state={state} />
            </span>
            {replica.progress && <Progress progress={replica.progress} label={`${keyOf(replica)}: ${state}`} />}
          </div>
        </td>
        <td className={table['number']}>{replica.in_flight}</td>
        <td>
          <ReplicaMemory replica={replica} />
        </td>
        <td>{replica.in_flight > 0 ? 'now' : <Ago at={replica.last_used_at} />}</td>
        <td className={`${table['actions']} ${style['actionCell']}`}>
          <span className={style['actions']}>
            <Hint text={logs}>
              <Link
                href={linkTo.logs(node.id, keyOf(replica))}
                aria-label={logs}
                className={`${button['button']} ${button['quiet']} ${button['icon']}`}
              >
                <ScrollText size={16} aria-hidden />
              </Link>
            </Hint>
            <ActionMenu
              label={`Actions for ${keyOf(replica)}`}
              actions={[
                {
                  label: state === 'failed' ? 'Try again now' : 'Restart this one',
                  icon: RotateCcw,
                  onSelect: restart,
                },
                'divider',
                { label: 'Unload this one', icon: Trash2, onSelect: unload },
                {
                  label: `Unload all ${siblings} of ${name}`,
                  icon: Trash2,
                  onSelect: unloadAll,
                  hidden: !isOneOfSeveral,
                },
              ]}
            />
          </span>
        </td>
      </tr>
      {hasTrouble && (
        <tr>
          <td colSpan={6} className={style['troubleCell']}>
            <ReplicaTrouble replica={replica} />
          </td>
        </tr>
      )}
    </>
  )
}
