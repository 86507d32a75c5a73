import type { Fault } from './fault.ts'
import type { Kind } from './harness/ask.ts'
import type { Cluster } from './harness/cluster.ts'
import type { Entry, Load } from './harness/load.ts'
import { leaks, replicaIds, whatIsWrong } from './harness/observe.ts'
import { pause } from './harness/until.ts'

export interface Outcome {
  fault: Fault
  /** How long it lasted. */
  heldMs: number
  requests: number
  /** Those that did not get all of their answer, by what became of them. */
  ended: Partial<Record<Kind, number>>
  /** From the heal until all was as before; undefined when that did not happen. */
  convergedMs: number | undefined
  /** What does not hold that must. */
  problems: string[]
  leftOut?: string
}

const CONVERGE_WITHIN_MS = 60_000
const LOOK_EVERY_MS = 50
const LEAKS_WITHIN_MS = 30_000
const MOST_TOLD = 5

/**
 * Lets these faults happen at once, mends them, waits until all is as before, and says what does not hold. With
 * `looksForLeaks` the load stops at the end for as long as it takes to see what was left behind.
 */
export async function runFaults(
  faults: readonly Fault[],
  cluster: Cluster,
  load: Load,
  { isLong = false, looksForLeaks = true }: { isLong?: boolean; looksForLeaks?: boolean } = {},
): Promise<Outcome[]> {
  const before = await replicaIds(cluster)
  // What is known of earlier ones is in their outcomes; a run of days must not keep every request.
  load.forget()
  const struck = await Promise.all(faults.map((fault) => fault.strike(cluster)))
  const heldMs = Math.max(...faults.map(({ holdMs, longMs = holdMs }) => (isLong ? longMs : holdMs)))
  await pause(heldMs)
  await Promise.all(struck.map(async ({ heal }) => heal?.()))
  const healedMs = performance.now()
  const { convergedMs, wrong } = await converge(cluster, load, healedMs)
  await load.settled(healedMs)
  const problems = wrong.map((what) => `not as before after ${CONVERGE_WITHIN_MS / 1000} s: ${what}`)
  if (looksForLeaks) problems.push(...(await lookForLeaks(cluster, load)))
  const entries = load.entries.filter(({ kind }) => kind !== 'unconnected')
  const after = await replicaIds(cluster)
  if (struck.every(({ keepsReplicas }) => keepsReplicas) && before.join() !== after.join()) {
    problems.push(`replicas are not those of before: ${before.length} then, ${after.length} now`)
  }
  const failed = entries.filter((entry) => entry.kind !== 'whole' && !struck.some(({ mayFail }) => mayFail?.(entry)))
  problems.push(...failed.slice(0, MOST_TOLD).map(describe))
  if (failed.length > MOST_TOLD) problems.push(`… and ${failed.length - MOST_TOLD} more that failed`)
  return faults.map((fault, index) => {
    const { leftOut } = struck[index]!
    const outcome = { fault, heldMs, requests: entries.length, ended: countsOf(entries), convergedMs, problems }
    return leftOut === undefined ? outcome : { ...outcome, leftOut }
  })
}

async function converge(
  cluster: Cluster,
  load: Load,
  healedMs: number,
): Promise<{ convergedMs: number | undefined; wrong: string[] }> {
  for (;;) {
    const wrong = await whatIsWrong(cluster, load, healedMs)
    const ms = performance.now() - healedMs
    if (wrong.length === 0) return { convergedMs: ms, wrong }
    if (ms > CONVERGE_WITHIN_MS) return { convergedMs: undefined, wrong }
    await pause(LOOK_EVERY_MS)
  }
}

async function lookForLeaks(cluster: Cluster, load: Load): Promise<string[]> {
  await load.pause()
  const fromMs = performance.now()
  try {
    for (;;) {
      const left = await leaks(cluster)
      if (left.length === 0) return []
      if (performance.now() - fromMs > LEAKS_WITHIN_MS) return left.map((what) => `left behind: ${what}`)
      await pause(LOOK_EVERY_MS)
    }
  } finally {
    load.resume()
  }
}

function describe({ kind, detail, gateway, model, node, isStream, startedMs, endedMs }: Entry): string {
  const what = `${isStream ? 'a stream' : 'a plain request'} of ${model} at ${gateway}, ${node ?? 'no node'}`
  return `${kind} after ${Math.round(endedMs - startedMs)} ms: ${what}: ${detail}`
}

function countsOf(entries: readonly Entry[]): Outcome['ended'] {
  const counts: Outcome['ended'] = {}
  for (const { kind } of entries) if (kind !== 'whole') counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}
