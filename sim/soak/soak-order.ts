import type { Outcome, Scenario } from '../simulate.ts'

/** What a child process is asked for: one run. It owns time and chance of its whole process, so it has one at a time. */
export interface Order {
  scenario: Scenario
  /** How many lines of the transcript to keep, the last ones. */
  lines: number
}

export interface Ran {
  outcome: Outcome
  lines: string[]
  cpuMs: number
  /** Of the child, after it. */
  memoryBytes: number
}

/** The name of the check when the simulator itself ended with an error: that is reported and shrunk like any other. */
export const SIMULATOR = 'simulator (it must not fail itself)'

/** `seen` is how far it came. */
export function brokenRun({ seed }: Scenario, message: string, seen = { atMs: 0, faults: 0 }): Outcome {
  const { atMs, faults } = seen
  const violation = { check: SIMULATOR, message, event: 0, atMs, lastLines: [] }
  return { seed, events: 0, virtualMs: atMs, counts: {}, faultsInjected: faults, traceHash: '', violation }
}
