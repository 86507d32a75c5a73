import type { Clock } from '../../platform/run/clock.ts'
import type { Ran, System } from './system.ts'

export interface Tools {
  /** Runs the first of these programs that is installed. */
  run(programs: readonly string[], args: readonly string[]): Promise<Ran>
}

/** How long a missing program is not searched for again: searching the PATH at every heartbeat is useless. */
const MISSING_FOR_MS = 60_000

/**
 * A tool is killed after this. It is longer than a measurement waits (probe.ts): without persistence mode the driver
 * initializes every GPU for each nvidia-smi, which takes seconds on a machine with eight of them.
 */
const TOOL_TIMEOUT_MS = 10_000
const MOST_OUTPUT_BYTES = 1024 * 1024

export function createTools(system: System, clock: Clock): Tools {
  const missingUntilMs = new Map<string, number>()
  return {
    async run(programs, args) {
      for (const program of programs) {
        if (clock.nowMs() < (missingUntilMs.get(program) ?? -Infinity)) continue
        missingUntilMs.delete(program)
        const ran = await system.run(program, args, { timeoutMs: TOOL_TIMEOUT_MS, maxBytes: MOST_OUTPUT_BYTES })
        if (ran.kind !== 'missing') return ran
        missingUntilMs.set(program, clock.nowMs() + MISSING_FOR_MS)
      }
      return { kind: 'missing' }
    },
  }
}

/** One line about a tool that gave no usable output. */
export function describeRan(program: string, ran: Ran): string {
  if (ran.kind === 'missing') return `${program} is not installed`
  if (ran.kind === 'failed') return ran.why
  // nvidia-smi prints its errors to stdout, other tools to stderr.
  const [said = ''] = `${ran.stderr.trim()}\n${ran.stdout.trim()}`.trim().split('\n', 1)
  return `${program} ended with code ${ran.code}${said === '' ? '' : `: ${said.trim().slice(0, 200)}`}`
}
