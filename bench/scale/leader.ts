import type { RoutedKeyMessage } from '../../src/api/bus/messages.ts'
import type { KeptWorld } from '../../src/control/kept-world.ts'
import { LoadTracker } from '../../src/control/load-tracker.ts'
import { nextStarts } from '../../src/control/next-starts.ts'
import { RoutingFeed } from '../../src/control/routing-feed.ts'
import { reconcileOnce, type TurnOutcome } from '../../src/control/turn.ts'
import type { Database } from '../../src/store/database.ts'
import { appendEvent } from '../../src/store/events.ts'
import { acquireLease, type HeldLease } from '../../src/store/leases.ts'
import { deleteReplica, listReplicas } from '../../src/store/replicas.ts'
import { cpuMs, heapMb } from './measure.ts'

const RUNS = 4
const GATEWAYS = 10
const BUSY_PER_GATEWAY = 100
/** Heartbeats come every 5 s, turns every 3 s. */
const HEARD_SHARE = 0.6
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
  /** What follows a turn. */
  feedMs: number
  feedAfterEventMs: number
  sampleMs: number
  startsMs: number
  heapMb: number
  /** Of one delta in which nothing is new. */
  deltaBytes: number
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
  const nodeIds = last!.world.nodes.map(({ id }) => id)
  const lost = (await listReplicas(db)).filter((_, i) => i % 7 === 0).slice(0, RUNS)
  const [idle, event, heard, feedIdle, feedEvent]: number[][] = [[], [], [], [], []]
  for (const replica of lost) {
    idle!.push(await turn())
    feedIdle!.push(await cpuMs(() => feed.update(last!.world, NO_KEYS)))
    await db.transaction(async (tx) => {
      await deleteReplica(tx, replica)
      const about = { nodeId: replica.nodeId, modelName: replica.modelName }
      await appendEvent(tx, { actor: 'control', action: 'replica.lost', reason: 'it ended', ...about })
    })
    event!.push(await turn())
    feedEvent!.push(await cpuMs(() => feed.update(last!.world, NO_KEYS)))
    touched = new Set(nodeIds.slice(0, Math.ceil(nodeIds.length * HEARD_SHARE)))
    heard!.push(await turn())
    touched = new Set()
  }
  const { world } = last!
  const loads = busyGateways(world.replicas.map(({ id }) => id))
  return {
    wholeMs: Math.min(...whole),
    idleMs: Math.min(...idle!),
    eventMs: Math.min(...event!),
    heardMs: Math.min(...heard!),
    feedMs: Math.min(...feedIdle!),
    feedAfterEventMs: Math.min(...feedEvent!),
    sampleMs: await cpuMs(() => loads.sample(world.replicas, 1000)),
    startsMs: await cpuMs(() => nextStarts(world.replicas, world.nodes)),
    heapMb: heap,
    deltaBytes: JSON.stringify(feed.update(world, NO_KEYS)).length,
    feed,
  }
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
