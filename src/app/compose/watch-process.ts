import { fileProblem, type OpenFile } from '../../store/driver/open-file.ts'
import type { Database } from '../../store/sql.ts'
import type { Condition, Conditions } from '../../control/watch/conditions.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { Dispose } from '../../platform/run/lifetime.ts'
import type { OutputTrouble } from '../../platform/run/lossy-output.ts'
import { startLoop } from '../../platform/run/loop.ts'
import { stderrOutput } from '../../platform/run/outputs.ts'

const PERIOD_MS = 2000
/** The checks run every 30 s, and every 2 s while something is wrong. */
const TURNS_BETWEEN = 15
const CLOCK_LIMIT_MS = 5000

export interface Watched {
  conditions: Conditions
  clock: Clock
  db: Database
  /** The database file as it was opened, if the store is one. */
  file: OpenFile | undefined
}

/** Watches this process and what it depends on: the database file, the clock, and the log. */
export function watchProcess({ conditions, clock, db, file }: Watched): Dispose {
  let turns = 0
  let isWrong = false
  const turn = async (): Promise<void> => {
    conditions.look('log', stuckLog(stderrOutput().trouble()))
    if (turns++ % TURNS_BETWEEN > 0 && !isWrong) return
    const problem = file ? fileProblem(file) : storeClock(await aheadOfStore(db, clock))
    conditions.look(file ? 'database file' : 'clock of the store', problem)
    isWrong = problem !== undefined
  }
  // Control's turns report a store that does not answer.
  const loop = startLoop({ periodMs: PERIOD_MS, turn, clock, onError: () => {} })
  return () => loop.dispose()
}

/** How far our clock is ahead of the store's. */
async function aheadOfStore(db: Database, clock: Clock): Promise<number> {
  const beforeMs = clock.nowMs()
  const [row] = await db.query<{ now: number }>('select now_ms() as now')
  return (beforeMs + clock.nowMs()) / 2 - row!.now
}

export function storeClock(aheadMs: number): Condition | undefined {
  if (Math.abs(aheadMs) <= CLOCK_LIMIT_MS) return undefined
  const seconds = Math.round(Math.abs(aheadMs) / 1000)
  const text = `The clock of this frontend is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the clock of PostgreSQL.`
  const advice = 'Set both clocks: timedatectl set-ntp true. What times mean in lists and logs is off by as much.'
  return { kind: 'store', severity: 'warning', text, advice }
}

/** Why the log cannot be written, while that lasts. */
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
