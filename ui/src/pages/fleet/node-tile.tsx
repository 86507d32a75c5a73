import { memo, type ReactNode } from 'react'
import { Link } from 'wouter'
import type { NodeView } from '../../../../src/api/admin/schemas.ts'
import { linkTo } from '../../links.ts'
import { MemoryBar } from '../../parts/memory-bar.tsx'
import { Berth } from './berth.tsx'
import type { ShownNode } from './node-card.tsx'
import style from './node-tile.module.css'

/** Of those on a node; what more there are is counted. */
const MOST_REPLICAS = 12

/** A node in a few square centimetres: how it is, how full it is, what runs. */
export const NodeTile = memo(function NodeTile({ node, replicas }: ShownNode): ReactNode {
  const hasGpu = node.total_vram > 0
  const more = replicas.length - MOST_REPLICAS
  return (
    <li className={`${style['tile']} ${style[node.status]}`}>
      <Link href={linkTo.node(node.id)} className={style['name']}>
        <span className={style['dot']} aria-hidden />
        <span className={style['text']}>{node.name}</span>
        <span className="visually-hidden">: {node.status}</span>
        {node.in_flight_count > 0 && (
          <span className={`${style['inFlight']} figures`}>
            {node.in_flight_count}
            <span className="visually-hidden"> in flight</span>
          </span>
        )}
      </Link>
      {(hasGpu || node.total_ram !== null) && (
        <MemoryBar
          bare
          label={hasGpu ? 'VRAM' : 'RAM'}
          total={hasGpu ? node.total_vram : (node.total_ram ?? 0)}
          available={hasGpu ? node.available_vram : node.available_ram}
          claimed={hasGpu ? node.reserved_vram : node.reserved_ram}
        />
      )}
      <span className={style['berths']}>
        {replicas.slice(0, MOST_REPLICAS).map((replica) => (
          <Berth key={replica.id} replica={replica} small />
        ))}
        {more > 0 && <span className={style['more']}>+{more}</span>}
        {replicas.length === 0 && <span className={style['more']}>empty</span>}
      </span>
    </li>
  )
}, looksTheSame)

/** Rates of requests change all the time and are not drawn here, nor are single devices. */
function looksTheSame(a: ShownNode, b: ShownNode): boolean {
  if (a.replicas !== b.replicas) return false
  return a.node === b.node || SHOWN.every((field) => a.node[field] === b.node[field])
}

const SHOWN = [
  'name',
  'status',
  'total_vram',
  'available_vram',
  'reserved_vram',
  'total_ram',
  'available_ram',
  'reserved_ram',
  'in_flight_count',
] as const satisfies (keyof NodeView)[]
