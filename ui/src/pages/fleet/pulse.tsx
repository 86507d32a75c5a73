import type { ReactNode } from 'react'
import { bytesText } from '../../format/bytes.ts'
import { countText, durationText, rateText } from '../../format/figures.ts'
import { useModels, useNodes, useReplicas, useTraffic } from '../../live/use-live.ts'
import { Sparkline } from '../../parts/sparkline.tsx'
import style from './pulse.module.css'

/** How the cluster is, in one line. */
export function Pulse(): ReactNode {
  const nodes = useNodes()
  const models = useModels()
  const replicas = useReplicas()
  const { cluster } = useTraffic()
  const having = (status: string): number => nodes.filter((node) => node.status === status).length
  const ready = replicas.filter(({ state }) => state === 'ready').length
  const inFlight = models.reduce((sum, model) => sum + model.in_flight, 0)
  const waiting = models.reduce((sum, model) => sum + model.waiting, 0)
  const inUse = nodes.reduce(
    (sum, node) => sum + (node.available_vram === null ? 0 : node.total_vram - node.available_vram),
    0,
  )
  const draining = having('draining')
  const facts = [
    countText(nodes.length, 'node'),
    `${having('healthy')} healthy`,
    ...(draining > 0 ? [`${draining} draining`] : []),
    ...(inUse > 0 ? [`${bytesText(inUse)} VRAM in use`] : []),
    `${ready} of ${countText(replicas.length, 'replica')} ready`,
    `${inFlight} in flight`,
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
    `${rateText(cluster.rate)} requests/s`,
    ...(cluster.latency_ms === null ? [] : [`${durationText(cluster.latency_ms)} on average`]),
  ]
  return (
    <div className={style['pulse']}>
      <p className="figures">{facts.join(' · ')}</p>
      {cluster.history.some((figure) => figure > 0) && (
        <Sparkline figures={cluster.history} label="Requests that ended in the last minute" width={140} height={22} />
      )}
    </div>
  )
}
