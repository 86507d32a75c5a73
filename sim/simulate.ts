import { Cluster } from './cluster.ts'
import { EventQueue } from './event-queue.ts'
import { ownTimeAndChance } from './ground/determinism.ts'
import type { Hooks } from './hooks.ts'
import { makeKeys } from './machine/machine.ts'
import { hooksOf } from './planted/find-planted.ts'
import { Run } from './run-scenario.ts'
import { streamOf } from './streams.ts'
import { Trace } from './report/trace.ts'

export interface Scenario {
  seed: number
  nodes: number
  models: number
  /** Of virtual time with faults; the quiet time comes on top. */
  hours: number
  /** Faults end earlier than that; all else is as for `hours`. */
  untilHours?: number | undefined
  /** Names of the kinds of faults that may happen; without it all of them. */
  faults?: readonly string[] | undefined
  /** No more than the first so many, to find the shortest prefix that still fails. */
  mostFaults?: number | undefined
  /** Ordinals of faults to leave out. The others stay as they are. */
  skipFaults?: ReadonlySet<number> | undefined
  /** The name of a planted bug. */
  bug?: string | undefined
  /** For a bug that has no name. */
  hooks?: Hooks | undefined
  /** Every line of the transcript, as it happens. */
  onLine?: ((line: string) => void) | undefined
}

export interface Violation {
  check: string
  message: string
  /** The number of the event after which it was seen, and the virtual time since the start. */
  event: number
  atMs: number
  lastLines: string[]
}

export interface Outcome {
  seed: number
  events: number
  virtualMs: number
  /** What happened, counted; printed as it is. */
  counts: Record<string, number>
  faultsInjected: number
  traceHash: string
  violation?: Violation
}

/** One run: a cluster with faults for a while, then a quiet time, and the checks all along. One at a time in a thread. */
export async function simulate(scenario: Scenario): Promise<Outcome> {
  const { seed, nodes, hours } = scenario
  const hooks = scenario.hooks ?? (scenario.bug === undefined ? {} : hooksOf(scenario.bug))
  const queue = new EventQueue()
  const startMs = queue.nowMs
  const trace = new Trace(() => queue.nowMs - startMs, scenario.onLine)
  makeKeys(nodes)
  const restore = ownTimeAndChance(queue, streamOf(seed, 'product'))
  try {
    const cluster = new Cluster({ seed, nodes, hours, queue, trace, hooks })
    const run = new Run(cluster, scenario)
    const problem = await run.play()
    trace.add('end', JSON.stringify(cluster.counts))
    cluster.store.close()
    const outcome: Outcome = {
      seed,
      events: queue.ran,
      virtualMs: queue.nowMs - startMs,
      counts: { ...cluster.counts },
      faultsInjected: run.faultsInjected,
      // The order and times of all events included: two runs that differ at all differ in it.
      traceHash: `${trace.hash()}${(queue.hash >>> 0).toString(16).padStart(8, '0')}`,
    }
    if (!problem) return outcome
    const at = { event: queue.ran, atMs: queue.nowMs - startMs, lastLines: trace.lastLines() }
    return { ...outcome, violation: { ...problem, ...at } }
  } finally {
    restore()
  }
}
