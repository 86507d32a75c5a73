import type { RoutedKeyMessage } from '../../src/api/bus/messages.ts'
import type { KeptWorld } from '../../src/control/turn/world-cache.ts'
import { LoadTracker } from '../../src/control/routing/load-tracker.ts'
import { nextStarts } from '../../src/core/reconcile/next-starts.ts'
import { RoutingFeed } from '../../src/control/routing/routing-feed.ts'
import { reconcileOnce, type TurnOutcome } from '../../src/control/turn/turn.ts'
import type { Database } from '../../src/store/sql.ts'
import { appendEvent } from '../../src/store/nouns/events.ts'
import { acquireLease, type HeldLease } from '../../src/store/nouns/leases.ts'
import { deleteReplica, listReplicas } from '../../src/store/nouns/replicas.ts'
import { cpuMs, heapMb } from './measure.ts'

const RUNS = 3
const EVENTS = 5
const GATEWAYS = 100
const BUSY_PER_GATEWAY = 100
export const TURN_S = 3
export const HEARTBEAT_S = 5
export const RARE_HEARTBEAT_S = 15
const NO_KEYS: readonly RoutedKeyMessage[] = []

export interface LeaderTimes {
  /** A turn that reads everything, with its commit. */
  wholeMs: number
  /** Nothing was written since the last one. */
  idleMs: number
  /** One replica was lost. */
  eventMs: number
  /** Nodes were heard and nothing else happened: what every few seconds of a quiet cluster cost. */
  heardMs: number
  /** The same where heartbeats come every 15 s. */
  heardRarelyMs: number
  /** What follows a turn. */
  feedMs: number
  feedAfterEventMs: number
  sampleMs: number
  startsMs: number
  heapMb: number
  /** Of a delta in which nothing is new, and of what is added to every fourth: who was heard. */
  deltaBytes: number
  heardBytes: number
  feed: RoutingFeed
}

/** The work of a leader, turn by turn, on a store that holds the world already. */
export async function measureLeader(db: Database): Promise<LeaderTimes> {
  const heapBefore = heapMb()
  let kept: KeptWorld | undefined
  let last: TurnOutcome | undefined
  let touched: ReadonlySet<string> = new Set()
  const turn = (): Promise<number> =>
    cpuMs(async () => {
      last = await reconcileOnce(db, await leadAgain(db), {
        limits: { unreachableAfterMs: 15_000, offlineAfterMs: 60_000 },
        policy: 'spread',
        hearing: undefined,
        answering: [],
        ticks: new Map(),
        loadsOf: () => [],
        wasFrozen: false,
        kept: kept && { ...kept, wholeAtMs: Date.now() },
        ownTouched: () => ({ nodeIds: touched, modelNames: new Set() }),
      })
      kept = last.kept
    })
  const whole = [await turn()]
  for (let i = 1; i < RUNS; i += 1) {
    kept = undefined
    whole.push(await turn())
  }
  const feed = new RoutingFeed('secret')
  feed.update(last!.world, NO_KEYS)
  const heap = heapMb() - heapBefore
  const [idle, event, feedIdle, feedEvent]: number[][] = [[], [], [], []]
  for (const replica of (await listReplicas(db)).filter((_, i) => i % 7 === 0).slice(0, EVENTS)) {
    idle!.push(await turn())
    feedIdle!.push(await cpuMs(() => feed.update(last!.world, NO_KEYS)))
    await db.transaction(async (tx) => {
      await deleteReplica(tx, replica)
      const about = { nodeId: replica.nodeId, modelName: replica.modelName }
      await appendEvent(tx, { actor: 'control', action: 'replica.lost', reason: 'it ended', ...about })
    })
    event!.push(await turn())
    feedEvent!.push(await cpuMs(() => feed.update(last!.world, NO_KEYS)))
  }
  const nodeIds = last!.world.nodes.map(({ id }) => id)
  const afterHearing = async (share: number): Promise<number> => {
    const times: number[] = []
    for (let i = 0; i < RUNS; i += 1) {
      touched = new Set(nodeIds.slice(0, Math.ceil(nodeIds.length * share)))
      times.push(await turn())
    }
    touched = new Set()
    return Math.min(...times)
  }
  const heardMs = await afterHearing(TURN_S / HEARTBEAT_S)
  const heardRarelyMs = await afterHearing(TURN_S / RARE_HEARTBEAT_S)
  const { world } = last!
  const loads = busyGateways(world.replicas.map(({ id }) => id))
  return {
    wholeMs: Math.min(...whole),
    idleMs: Math.min(...idle!),
    eventMs: Math.min(...event!),
    heardMs,
    heardRarelyMs,
    feedMs: Math.min(...feedIdle!),
    feedAfterEventMs: Math.min(...feedEvent!),
    sampleMs: await cpuMs(() => loads.sample(world.replicas, 1000)),
    startsMs: await cpuMs(() => nextStarts(world.replicas, world.nodes)),
    heapMb: heap,
    ...deltaSizes(feed, world),
    feed,
  }
}

/** One that tells who was heard, and the next, which does not. */
function deltaSizes(feed: RoutingFeed, world: TurnOutcome['world']): Pick<LeaderTimes, 'deltaBytes' | 'heardBytes'> {
  const sizeAt = (nowMs: number): number => JSON.stringify(feed.update({ ...world, nowMs }, NO_KEYS)).length
  const withHeard = sizeAt(world.nowMs + 60_000)
  const deltaBytes = sizeAt(world.nowMs + 60_001)
  return { deltaBytes, heardBytes: withHeard - deltaBytes }
}

function busyGateways(ids: readonly string[]): LoadTracker {
  const loads = new LoadTracker()
  for (let g = 0; g < GATEWAYS; g += 1) {
    const busy = Array.from({ length: BUSY_PER_GATEWAY }, (_, i) => [ids[(g * 31 + i * 17) % ids.length]!, 1] as const)
    loads.hear({ gateway: `g${g}`, seq: 1, counts: Object.fromEntries(busy) }, 1000)
  }
  return loads
}

async function leadAgain(db: Database): Promise<HeldLease> {
  const answer = await acquireLease(db, { name: 'leader', owner: 'bench', ttlMs: 600_000 })
  if (!('epoch' in answer)) throw new Error(`${answer.heldBy} leads`)
  return { name: 'leader', owner: 'bench', epoch: answer.epoch }
}
