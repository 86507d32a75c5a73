import type { Condition, Conditions } from './control/conditions.ts'
import type { Clock } from './platform/clock.ts'
import type { Dispose } from './platform/lifetime.ts'
import type { OutputTrouble } from './platform/lossy-output.ts'
import { startLoop } from './platform/loop.ts'
import { stderrOutput } from './platform/outputs.ts'

const PERIOD_MS = 2000

/** What is wrong with this process itself, looked at every 2 s. */
export function watchProcess(conditions: Conditions, clock: Clock): Dispose {
  const turn = async (): Promise<void> => {
    conditions.look('log', stuckLog(stderrOutput().trouble()))
  }
  const loop = startLoop({ periodMs: PERIOD_MS, turn, clock, onError: () => {} })
  return () => loop.dispose()
}

/** Why the log is not written, for as long as that lasts. */
export function stuckLog(trouble: OutputTrouble | undefined): Condition | undefined {
  if (!trouble) return undefined
  const { why, advice } = WHY[trouble.code] ?? {
    why: `writing to stderr fails with ${trouble.code}`,
    advice: 'Look at where stderr of the frontend goes to.',
  }
  const lost = trouble.lost === 0 ? '' : ` ${trouble.lost} lines are lost so far.`
  return {
    kind: 'process',
    severity: 'warning',
    text: `The log of this frontend is not written: ${why}.${lost}`,
    advice,
  }
}

const FULL = {
  why: 'the disk that it goes to is full',
  advice: 'Make room on the disk of the log. Flotilla goes on meanwhile; it drops lines and counts them.',
}
const WHY: Record<string, { why: string; advice: string }> = {
  EAGAIN: {
    why: 'what reads its stderr stands still',
    advice: 'Ctrl-Q in its terminal, or restart what reads the log (journald, a log driver, less).',
  },
  EPIPE: { why: 'what read its stderr has ended', advice: 'The next start connects the log again.' },
  ENOSPC: FULL,
  EDQUOT: FULL,
}
