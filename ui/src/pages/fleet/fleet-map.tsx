import { memo, useDeferredValue, useMemo, useState, type ReactNode } from 'react'
import type { NodeView, ReplicaView } from '../../../../src/api/admin/schemas.ts'
import { useTraffic, useWorld } from '../../live/use-live.ts'
import { Empty } from '../../parts/notice.tsx'
import { Segmented } from '../../parts/segmented.tsx'
import field from '../../parts/field.module.css'
import style from './fleet-map.module.css'
import { Legend } from './legend.tsx'
import { matches, rateOf } from './fleet-facts.ts'
import { NodeCard } from './node-card.tsx'
import { NodeTile } from './node-tile.tsx'

/** Above it cards would take many screens: tiles show the same on one. */
const MOST_CARDS = 24

type Density = 'cards' | 'tiles'

/** Each node with its memory and its replicas. */
export function FleetMap({ nodes }: { nodes: readonly NodeView[] }): ReactNode {
  const [chosen, setChosen] = useState<Density>()
  const [search, setSearch] = useState('')
  const replicasOn = useWorld((world) => world.replicasOn)
  const { replicas: rates } = useTraffic()
  const density = chosen ?? (nodes.length > MOST_CARDS ? 'tiles' : 'cards')
  // Drawn bit by bit between frames, so that neither typing nor what moves ever waits for two hundred nodes.
  const newest = useMemo(
    () => ({ nodes, replicasOn, rates, search, density }),
    [nodes, replicasOn, rates, search, density],
  )
  const shown = useDeferredValue(newest)
  return (
    <section aria-label="Nodes" className={style['map']}>
      <div className={style['tools']}>
        <input
          type="search"
          className={field['input']}
          aria-label="Find nodes by name, label or model"
          placeholder="Name, label or model"
          value={search}
          onChange={({ target }) => setSearch(target.value)}
        />
        <Legend />
        <Segmented
          label="How much of each node"
          value={density}
          onChange={setChosen}
          options={[
            { value: 'cards', label: 'Cards' },
            { value: 'tiles', label: 'Tiles' },
          ]}
        />
      </div>
      <NodeGrid {...shown} />
    </section>
  )
}

interface NodeGridProps {
  nodes: readonly NodeView[]
  replicasOn: ReadonlyMap<string, readonly ReplicaView[]>
  rates: Readonly<Record<string, number>>
  search: string
  density: Density
}

const NodeGrid = memo(function NodeGrid({ nodes, replicasOn, rates, search, density }: NodeGridProps): ReactNode {
  const found = nodes.filter((node) => matches(node, replicasOn.get(node.id) ?? NONE, search))
  const Node = density === 'cards' ? NodeCard : NodeTile
  if (found.length === 0) return <Empty>No node matches “{search}”.</Empty>
  return (
    <ul className={style[density]}>
      {found.map((node) => {
        const replicas = replicasOn.get(node.id) ?? NONE
        return <Node key={node.id} node={node} replicas={replicas} rate={rateOf(replicas, rates)} />
      })}
    </ul>
  )
})

const NONE: readonly never[] = []
