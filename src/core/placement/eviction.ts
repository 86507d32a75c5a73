import { isStaying } from '../lifecycle/states.ts'
import type { Replica, World } from '../types.ts'
import { mayServeOn } from '../nodes/availability.ts'

/** A pause between two requests of one conversation does not count as idle. */
const IDLE_MS = 10_000
/**
 * A model that has had a card this long may be evicted between two requests, however much it is used: otherwise a model
 * that is always in use would keep all others out for ever. A shorter time would make two models that share a card spend
 * their time loading.
 */
const RESIDENCY_MS = 30_000

const GIB = 2 ** 30

/**
 * The replicas that may be stopped to make room for others, with the regret of each. Infinity: not yet, because it is busy,
 * starting, or new. Of a model with a rule only as many are given as it has above its minimum, those of least regret.
 */
export function evictables(world: World): Map<string, number> {
  const revisions = new Map(world.models.map(({ name, revision }) => [name, revision]))
  // A rule that wants one on every node misses it wherever it is stopped.
  const minima = new Map(
    world.rules.map(({ modelName, minReplicas, spreadAll }) => [modelName, spreadAll ? Infinity : minReplicas]),
  )
  const nodes = new Map(world.nodes.map((node) => [node.id, node]))
  const selectors = new Map(world.rules.map(({ modelName, nodeSelector }) => [modelName, nodeSelector]))
  const payloads = new Map(world.facts.map(({ modelName, payloadBytes }) => [modelName, payloadBytes]))
  const demanded = new Set<string>()
  for (const { modelName, wantedUntilMs } of world.demands) if (wantedUntilMs > world.nowMs) demanded.add(modelName)

  const byModel = Map.groupBy(
    world.replicas.filter(
      (replica) => isStaying(replica.state) && replica.revision === revisions.get(replica.modelName),
    ),
    ({ modelName }) => modelName,
  )
  const regrets = new Map<string, number>()
  for (const [modelName, replicas] of byModel) {
    const minimum = minima.get(modelName) ?? 0
    const payload = payloads.get(modelName) ?? null
    const sorted = replicas
      .map((replica) => ({
        replica,
        regret: mayGoNow(replica, demanded.has(modelName), world.nowMs)
          ? regretOf(replica, payload, world.nowMs)
          : Infinity,
      }))
      .toSorted((a, b) => (a.regret === b.regret ? (a.replica.id < b.replica.id ? -1 : 1) : a.regret - b.regret))
    const selector = selectors.get(modelName) ?? {}
    const counted = new Set(replicas.filter(({ nodeId }) => mayServeOn(selector, nodes.get(nodeId))))
    // One that starts does not serve yet: it takes the place of none that does.
    let now = replicas.filter((one) => one.state === 'ready' && counted.has(one)).length - minimum
    let later = counted.size - minimum
    for (const { replica, regret } of sorted) {
      // It gets no requests, so its end breaks no minimum; nor does it count as a replica that stays.
      if (!counted.has(replica)) {
        regrets.set(replica.id, regret)
        continue
      }
      if (later <= 0) continue
      const isNow = regret < Infinity && now > 0
      regrets.set(replica.id, isNow ? regret : Infinity)
      later -= 1
      if (isNow) now -= 1
    }
  }
  return regrets
}

function mayGoNow(replica: Replica, isDemanded: boolean, nowMs: number): boolean {
  if (replica.state !== 'ready' || replica.inFlight > 0) return false
  if (nowMs - (replica.readySinceMs ?? 0) >= RESIDENCY_MS) return true
  // It was loaded for a request that has not reached it yet.
  return !isDemanded && nowMs - lastUseMs(replica) >= IDLE_MS
}

/**
 * What was idle longest goes first; of those that were idle about as long, within a factor of two, the one that is loaded
 * again with the fewest bytes. So the whole part tells how recent the last use was, and the fraction what a reload costs.
 */
function regretOf(replica: Replica, payloadBytes: number | null, nowMs: number): number {
  const idleSeconds = Math.max(0, nowMs - lastUseMs(replica)) / 1000
  const recency = Math.max(0, 50 - Math.floor(Math.log2(1 + idleSeconds)))
  const reload = (payloadBytes ?? claimedBytes(replica)) / GIB
  return recency + reload / (1 + reload)
}

function lastUseMs({ lastUsedMs, readySinceMs }: Replica): number {
  return Math.max(lastUsedMs ?? 0, readySinceMs ?? 0)
}

function claimedBytes({ claim }: Replica): number {
  if (!claim) return 0
  return claim.ram + claim.devices.reduce((sum, { bytes }) => sum + bytes, 0)
}
