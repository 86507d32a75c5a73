import { loadStatusOf } from '../src/control/load-status.ts'
import { isOnTheWay } from './on-the-way.ts'
import { RoutingFeed } from '../src/control/routing-feed.ts'
import { judgeHeartbeat } from '../src/core/lifecycle/judge-heartbeat.ts'
import { checkPlan } from '../src/core/reconcile/check-plan.ts'
import { reconcile } from '../src/core/reconcile/reconcile.ts'
import type { World } from '../src/core/types.ts'

/** What the simulator takes from the real program. The tests replace single parts by broken ones and see them caught. */
export interface Parts {
  reconcile: typeof reconcile
  checkPlan: typeof checkPlan
  loadStatusOf: typeof loadStatusOf
  judgeHeartbeat: typeof judgeHeartbeat
  newFeed: () => Pick<RoutingFeed, 'update' | 'snapshot'>
  /** Ways in which the model itself can be made to misbehave; none outside of tests. */
  broken: ReadonlySet<Breakage>
}

/** Each with the reason why somebody might write it. The tests show that every one of them is caught. */
export const breakages = {
  'writes are not fenced': 'the epoch of a lease is not looked at when its owner writes',
  'epochs do not grow': 'a lease that changes hands keeps its epoch',
  'stop does nothing': 'a worker that is told to stop says yes and does nothing',
  'keys are not in order': 'a replica starts while the last one of its key still stops',
  'restarts count anew': 'a worker that is started again counts its heartbeats from 1',
  'restarts forget': 'a worker that is started again does not look for engines that run',
  'exits go unnoticed': 'a worker does not see that an engine died',
  'refusals stay in flight': 'a gateway keeps the count of a request that was refused',
  'a death ends the request': 'a gateway does not try another replica',
  'failed rows keep the old number': 'a failed row waits for a heartbeat of the boot before',
  'deaf leaders judge': 'silence counts also while no leader was there to hear',
  'claims are not written': 'a reserved row takes its slot and not its memory',
  'loads are not seen': 'what is on its way counts for nothing when it is asked for again',
  'all are idle': 'replicas are taken for idle, whatever they serve',
  'all are old': 'replicas are taken for long unused, whenever they were loaded',
  'demands are not written': 'control answers that a model is wanted, and forgets it',
} as const
export type Breakage = keyof typeof breakages

export const realParts: Parts = {
  reconcile,
  checkPlan,
  loadStatusOf,
  judgeHeartbeat,
  newFeed: () => new RoutingFeed('the secret of a simulated cluster'),
  broken: new Set(),
}

/** The world as the planner sees it: as it is, unless a mistake is built in. */
export function misread(world: World, broken: ReadonlySet<Breakage>): World {
  let { replicas } = world
  if (broken.has('loads are not seen')) replicas = replicas.filter(({ state }) => !isOnTheWay(state))
  if (broken.has('all are idle')) replicas = replicas.map((replica) => ({ ...replica, inFlight: 0 }))
  if (broken.has('all are old')) {
    replicas = replicas.map((replica) => ({ ...replica, lastUsedMs: 0, readySinceMs: replica.readySinceMs && 0 }))
  }
  return replicas === world.replicas ? world : { ...world, replicas }
}
