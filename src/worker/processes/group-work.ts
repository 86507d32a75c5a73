import { readFileSync } from 'node:fs'
import { membersOfEach } from './engine-members.ts'

/**
 * Processor time that engines have used so far, in kernel ticks, by the pid of each one's first process. An engine
 * without figures is left out. Undefined without /proc.
 */
export async function workOfEach(leaders: ReadonlySet<number>): Promise<Map<number, number> | undefined> {
  const members = await membersOfEach(leaders)
  if (!members) return undefined
  const sums = [...members].map(([leader, pids]) => [leader, pids.reduce((sum, pid) => sum + ticksOf(pid), 0)] as const)
  return new Map(sums.filter(([, ticks]) => ticks > 0))
}

function ticksOf(pid: number): number {
  try {
    return parseTicks(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    // The process has ended meanwhile.
    return 0
  }
}

/** The program's name may contain anything: the fields begin after the last parenthesis. */
export function parseTicks(stat: string): number {
  const fields = stat
    .slice(stat.lastIndexOf(')') + 1)
    .trim()
    .split(/\s+/)
  const [user, system] = [Number(fields[11]), Number(fields[12])]
  return Number.isFinite(user + system) ? user + system : 0
}
