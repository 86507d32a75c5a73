import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

/**
 * What the operating system says of a process. `none`: no process has that number; `unknown`: the system could not be
 * asked.
 */
export type Look = 'none' | 'unknown' | ProcessLook

export interface ProcessLook {
  /** The start time, in any format; two processes with one number never have the same. */
  startedAt: string
  /** It has ended and its parent has not reaped it yet. */
  isZombie: boolean
  /** Known on Linux only. */
  group?: number
  session?: number
}

/** Linux has it. Elsewhere `ps` is used, which is slower and knows start times to the second only. */
export const hasProc = existsSync('/proc/self/stat')

export function lookAt(pid: number): Look {
  return hasProc ? lookInProc(pid) : lookWithPs(pid)
}

function lookInProc(pid: number): Look {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    // Only these two mean that it is gone. Without free descriptors, for example, the answer is unknown.
    return code === 'ENOENT' || code === 'ESRCH' ? 'none' : 'unknown'
  }
}

/**
 * The program's name comes second and may hold spaces, parentheses and line ends: the fields begin after the last
 * parenthesis.
 */
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
      // Fixes the format of the time, wherever and whenever the worker is started.
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
