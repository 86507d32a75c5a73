import type { Bus } from '../bus/bus.ts'
import type { PlacePolicy } from '../core/placement/types.ts'
import type { Hub } from '../model-files/source/hub.ts'
import type { Clock } from '../platform/run/clock.ts'
import type { Logger } from '../platform/run/log.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'
import type { Database } from '../store/sql.ts'
import type { LivenessLimits } from '../core/nodes/liveness.ts'
import type { Conditions } from './watch/conditions.ts'
import type { EventFeed } from './changes/event-feed.ts'
import type { KnownStore } from './watch/known-store.ts'
import type { Pace } from './turn/pace.ts'
import type { ProbeReplica } from './workers/probe-nodes.ts'
import type { RoutingFeed } from './routing/routing-feed.ts'
import type { Decide } from './turn/turn.ts'

export type NewFeed = (...made: ConstructorParameters<typeof RoutingFeed>) => RoutingFeed

export interface ControlDeps {
  db: Database
  bus: Bus
  clock: Clock
  log: Logger
  /** Who we are in the election: stable for one data folder, so that a restart resumes its own lease at once. */
  owner: string
  clusterSecret: string
  clusterId: string
  /** Of this frontend; all gateways take it, whichever frontend leads. */
  adminKey: () => string
  liveness: LivenessLimits
  /** To be woken when a turn or a heartbeat has appended an event. */
  events: Pick<EventFeed, 'wake'>
  /** Where it says what is wrong beside what rows tell. */
  conditions?: Conditions | undefined
  /** What is known of the store; without it no store is another. */
  known?: KnownStore | undefined
  placement: PlacePolicy
  /** Where models come from whose source is `frontend:`, and `hf:`. */
  modelsFolder: string
  hub: Hub
  /** Where it counts, when that is not a place of its own. */
  metrics?: Metrics | undefined
  /** How often to look when nothing wakes it; a turn renews the lease. */
  pace?: Pace
  /** Where this frontend listens, for people. */
  address?: string | undefined
  /** For who brings parts of its own, as the simulator does; else the real ones. */
  parts?: { decide?: Decide; probe?: ProbeReplica; newFeed?: NewFeed }
}

export interface Control {
  /** The store has changed: take a turn soon. */
  wake(): void
  isLeading(): boolean
  /** The last turn's failure, if it failed. */
  problem(): string | undefined
  /** Names of the nodes of a mass disappearance, whose replicas are left alone until it is over. Known to the leader. */
  frozen(): string[]
  dispose(): Promise<void>
}
