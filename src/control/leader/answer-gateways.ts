import type { Bus } from '../../bus/bus.ts'
import type { PlacePolicy } from '../../core/placement/types.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { Database } from '../../store/sql.ts'
import { gatewayCertificate } from '../joining/cluster-ca.ts'
import { ColdLoads } from '../routing/cold-loads.ts'
import type { LoadTracker } from '../routing/load-tracker.ts'
import type { Leadership } from './leadership.ts'

export interface GatewayAnswersDeps {
  db: Database
  bus: Bus
  clock: Clock
  leadership: Leadership
  loads: LoadTracker
  clusterSecret: string
  policy: PlacePolicy
  /** A model is wanted that was not: asks for a turn soon. */
  wake: () => void
}

/** What the leader hears from gateways, and answers them. */
export function answerGateways({ db, bus, clock, leadership, loads, clusterSecret, policy, wake }: GatewayAnswersDeps) {
  const cold = new ColdLoads({ db, policy, onChange: wake })
  bus.subscribe('gatewayLoad', (load) => loads.hear(load, clock.nowMs()))
  bus.respond('modelWanted', async (wanted) => {
    const after = leadership.now?.after
    return after && cold.want(wanted, after.world, after.plan)
  })
  bus.respond('dataCertificate', async ({ public_key: key }) => {
    if (!leadership.deciding) return undefined
    return { certificate: gatewayCertificate(clusterSecret, key, clock.nowMs()) }
  })
  bus.respond('routingSnapshot', async ({ part }) => {
    const feed = leadership.now?.feed
    await feed?.filled
    // It may have been a long time, in which another has come to lead.
    return feed === leadership.deciding?.feed ? feed?.snapshot(part) : undefined
  })
}
