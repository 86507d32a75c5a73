import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

/** What the operating system says of a process. `none`: there is none of that number; `unknown`: it could not be asked. */
export type Look = 'none' | 'unknown' | ProcessLook

export interface ProcessLook {
  /** When it was started, in whatever words; two processes of one number never have the same. */
  startedAt: string
  /** It has ended, and whoever started it has not taken note yet. */
  isZombie: boolean
  /** Known on Linux only. */
  group?: number
  session?: number
}

/** Linux has it. Elsewhere `ps` is asked, which is slower and knows start times to the second only. */
export const hasProc = existsSync('/proc/self/stat')

export function lookAt(pid: number): Look {
  return hasProc ? lookInProc(pid) : lookWithPs(pid)
}

function lookInProc(pid: number): Look {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    // Only these two say that it is gone. Without free descriptors, for one, nothing can be said.
    return code === 'ENOENT' || code === 'ESRCH' ? 'none' : 'unknown'
  }
}

/** The program's name comes second and may hold spaces, parentheses and line ends: what counts begins after the last one. */
export function parseStat(text: string): Look {
  const fields = text
    .slice(text.lastIndexOf(')') + 1)
    .trim()
    .split(/\s+/)
  const [state, , group, session] = fields
  const startedAt = fields[19]
  if (!text.includes(')') || !state || !startedAt) return 'unknown'
  return { startedAt, isZombie: isEndedState(state), group: Number(group), session: Number(session) }
}

const PS_TIMEOUT_MS = 5000

/** For systems without /proc. */
export function lookWithPs(pid: number): Look {
  try {
    const text = execFileSync('ps', ['-o', 'lstart=', '-o', 'stat=', '-p', String(pid)], {
      encoding: 'utf8',
      timeout: PS_TIMEOUT_MS,
      stdio: ['ignore', 'pipe', 'ignore'],
      // The same words for the same time, wherever and whenever the worker is started.
      env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' },
    })
    const words = text.trim().split(/\s+/)
    const state = words.pop()
    return state && words.length > 0 ? { startedAt: words.join(' '), isZombie: isEndedState(state) } : 'none'
  } catch (error) {
    return (error as { status?: number }).status === 1 ? 'none' : 'unknown'
  }
}

function isEndedState(state: string): boolean {
  return /^[ZXx]/.test(state)
}
