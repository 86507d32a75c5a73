import { memo, type ReactNode } from 'react'
import { Link } from 'wouter'
import type { NodeView, ReplicaView } from '../../../../src/api/admin/schemas.ts'
import { rateText } from '../../format/figures.ts'
import { linkTo } from '../../links.ts'
import { MemoryBar } from '../../parts/memory-bar.tsx'
import { NodeStatus } from '../../parts/state-pills.tsx'
import { Berth } from './berth.tsx'
import { berthsOf } from './fleet-facts.ts'
import style from './node-card.module.css'

export interface ShownNode {
  node: NodeView
  replicas: readonly ReplicaView[]
  /** Requests a second. */
  rate: number
}

/** A node with its devices, and its slots by model. */
export const NodeCard = memo(function NodeCard({ node, replicas, rate }: ShownNode): ReactNode {
  const models = berthsOf(node.max_replicas_per_model, replicas)
  return (
    <li className={`${style['card']} ${node.liveness === 'online' ? '' : style['away']}`}>
      <header className={style['head']}>
        <Link href={linkTo.node(node.id)} className={style['name']}>
          {node.name}
        </Link>
        <NodeStatus status={node.status} />
      </header>
      <div className={style['memory']}>
        {node.devices.map((device, i) => (
          <MemoryBar
            key={device.index}
            label={node.devices.length === 1 ? device.name || 'GPU' : `GPU ${device.index}`}
            total={device.total_vram}
            available={device.available_vram}
            claimed={node.reserved_vram_by_device[i] ?? 0}
          />
        ))}
        {node.total_ram !== null && (
          <MemoryBar label="RAM" total={node.total_ram} available={node.available_ram} claimed={node.reserved_ram} />
        )}
      </div>
      {models.length === 0 ? (
        <p className={style['none']}>{node.node_type === 'agent' ? 'Agent: runs no replicas' : 'No replicas'}</p>
      ) : (
        <ul className={style['models']}>
          {models.map(({ modelName, berths }) => (
            <li key={modelName} className={style['model']}>
              <Link href={linkTo.model(modelName)} className={style['modelName']} title={modelName}>
                {modelName}
              </Link>
              <span className={style['berths']}>
                {berths.map((replica, i) => (
                  <Berth key={i} replica={replica} />
                ))}
              </span>
            </li>
          ))}
        </ul>
      )}
      <footer className={`${style['foot']} figures`}>
        <span>{node.in_flight_count} in flight</span>
        <span>{rateText(rate)} requests/s</span>
      </footer>
    </li>
  )
}, looksTheSame)

/** Heartbeats come every second and change nothing that is drawn here. */
function looksTheSame(a: ShownNode, b: ShownNode): boolean {
  if (a.replicas !== b.replicas || a.rate !== b.rate) return false
  if (a.node === b.node) return true
  return SHOWN.every((field) => a.node[field] === b.node[field])
}

const SHOWN = [
  'name',
  'status',
  'liveness',
  'devices',
  'available_ram',
  'reserved_ram',
  'reserved_vram_by_device',
  'max_replicas_per_model',
  'in_flight_count',
] as const satisfies (keyof NodeView)[]
