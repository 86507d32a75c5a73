import { Power, RotateCw } from 'lucide-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { LiveModel } from '../../../../src/api/admin/live-schemas.ts'
import type { ReplicaView } from '../../../../src/api/admin/schemas.ts'
import { useChange } from '../../api/use-change.ts'
import { bytesText } from '../../format/bytes.ts'
import { countText } from '../../format/figures.ts'
import { linkTo } from '../../links.ts'
import { useNodes } from '../../live/use-live.ts'
import { ActionsHead } from '../../parts/actions-head.tsx'
import { ActionMenu } from '../../parts/action-menu.tsx'
import { Ago } from '../../parts/ago.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { Empty } from '../../parts/notice.tsx'
import { Panel } from '../../parts/page.tsx'
import { Pill } from '../../parts/pill.tsx'
import { ReplicaState } from '../../parts/state-pills.tsx'
import table from '../../parts/table.module.css'
import { claimedBytes, measuredBytes } from './model-memory.ts'
import style from './model-page.module.css'

const collator = new Intl.Collator('en', { numeric: true })

/** The replicas of a model, over all nodes. */
export function ModelReplicas({ model, replicas }: { model: LiveModel; replicas: readonly ReplicaView[] }): ReactNode {
  const names = new Map(useNodes().map(({ id, name }) => [id, name]))
  const nameOf = ({ node_id: id }: ReplicaView): string => names.get(id) ?? id
  // They come by index; one looks for them by node. Sorting keeps the order of indexes on each.
  const inOrder = replicas.toSorted((a, b) => collator.compare(nameOf(a), nameOf(b)))
  if (replicas.length === 0) {
    return (
      <Panel title="Replicas">
        <Empty>None is loaded. The first request loads one, or a rule keeps some.</Empty>
      </Panel>
    )
  }
  return (
    <Panel flush title="Replicas">
      <div className={table['scroll']}>
        <table className={`${table['table']} ${table['reach']} ${style['replicas']}`}>
          <thead>
            <tr>
              <th scope="col">Node</th>
              <th scope="col">Replica</th>
              <th scope="col">State</th>
              <th scope="col" className={table['number']}>
                In flight
              </th>
              <th scope="col" className={table['number']}>
                Memory claimed / measured
              </th>
              <th scope="col">Ready</th>
              <ActionsHead />
            </tr>
          </thead>
          <tbody>
            {inOrder.map((replica) => (
              <Row
                key={replica.id}
                replica={replica}
                nodeName={nameOf(replica)}
                isOld={replica.revision !== model.revision}
              />
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}

function Row({ replica, nodeName, isOld }: { replica: ReplicaView; nodeName: string; isOld: boolean }): ReactNode {
  const { node_id: nodeId, replica_index: index, state, error, in_flight: inFlight, ready_at: readyAt } = replica
  const claimed = claimedBytes(replica)
  const measured = measuredBytes(replica)
  return (
    <tr>
      <td>
        <Link href={linkTo.node(nodeId)}>{nodeName}</Link>
      </td>
      <td>
        {index} {isOld && <Pill tone="warn">old revision</Pill>}
      </td>
      <td>
        <div className={style['progress']}>
          <span>
            <ReplicaState state={state} />
          </span>
          <Progress replica={replica} />
          {error !== null && <p className={style['error']}>{error}</p>}
        </div>
      </td>
      <td className={table['number']}>{inFlight}</td>
      <td className={table['number']}>
        {claimed === 0 ? '–' : bytesText(claimed)} / {measured === null ? '–' : bytesText(measured)}
      </td>
      <td>{readyAt === null ? '–' : <Ago at={readyAt} />}</td>
      <td className={table['actions']}>
        <div className={style['actions']}>
          <Link href={linkTo.logs(nodeId, `${replica.model_name}#${index}`)}>Logs</Link>
          <ReplicaMenu replica={replica} nodeName={nodeName} />
        </div>
      </td>
    </tr>
  )
}

function Progress({ replica: { progress } }: { replica: ReplicaView }): ReactNode {
  if (!progress || progress.total_bytes === null || progress.total_bytes === 0) return null
  const percent = Math.min(100, Math.round((100 * progress.done_bytes) / progress.total_bytes))
  const text = `${percent} % of ${bytesText(progress.total_bytes)}`
  return (
    <>
      <div
        className={style['bar']}
        role="meter"
        aria-label={text}
        aria-valuenow={percent}
        aria-valuemin={0}
        aria-valuemax={100}
      >
        <span style={{ width: `${percent}%` }} />
      </div>
      <span className={table['sub']}>{text}</span>
    </>
  )
}

function ReplicaMenu({ replica, nodeName }: { replica: ReplicaView; nodeName: string }): ReactNode {
  const { id, node_id: nodeId, model_name: name, replica_index: index, in_flight: inFlight } = replica
  const key = `${name}#${index}`
  const confirm = useConfirm()
  const restart = useChange('restartReplica', { done: ({ text }) => text })
  const unload = useChange('unloadModel', {
    done: ({ kept_by_rule: isKept }) =>
      `${key} on ${nodeName} is being stopped.${isKept ? ' Its rule starts another one.' : ''}`,
  })
  const askUnload = async (): Promise<void> => {
    const isSure = await confirm({
      title: `Unload ${key} on ${nodeName}?`,
      text:
        inFlight > 0
          ? `${countText(inFlight, 'request')} ${inFlight === 1 ? 'runs' : 'run'} on it now: what does not end in time is interrupted.`
          : 'Nothing runs on it now.',
      confirm: 'Unload',
      isDanger: inFlight > 0,
    })
    if (isSure) unload.mutate({ params: { id: nodeId }, body: { model_name: name, replica_index: index } })
  }
  return (
    <ActionMenu
      label={`Actions for ${key} on ${nodeName}`}
      actions={[
        { label: 'Restart', icon: RotateCw, onSelect: () => restart.mutate({ params: { id }, body: {} }) },
        { label: 'Unload', icon: Power, onSelect: () => void askUnload(), isDanger: true },
      ]}
    />
  )
}
