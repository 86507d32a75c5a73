import { readdirSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { findMarked } from './engine-mark.ts'
import type { ProcessIdentity } from './process-identity.ts'
import { lookAt } from './process-look.ts'

/** A living process of an engine. */
export type Member = Pick<ProcessIdentity, 'pid' | 'startedAt'>

/** How many processes are read before the event loop gets its turn: about 1 ms. */
const AT_ONCE = 50

/**
 * The living processes of an engine: those of its group and session, and those that left both but still carry its mark.
 * Undefined when unknown: without /proc, or without free descriptors to read it.
 */
export async function membersOf(
  identity: ProcessIdentity,
  { byGroup, byMark }: { byGroup: boolean; byMark: boolean },
): Promise<Member[] | undefined> {
  const pids = listPids()
  if (!pids) return undefined
  const members: Member[] = []
  const others = new Map<number, Member>()
  for (const [index, pid] of pids.entries()) {
    if (index % AT_ONCE === AT_ONCE - 1) await nextTurn()
    const look = lookAt(pid)
    if (look === 'unknown') return undefined
    if (look === 'none' || look.isZombie) continue
    const { startedAt, group, session } = look
    if (byGroup && (group === identity.pid || session === identity.pid)) members.push({ pid, startedAt })
    // A process that an engine started is not older than the engine.
    else if (byMark && Number(startedAt) >= Number(identity.startedAt)) others.set(pid, { pid, startedAt })
  }
  const marked = await findMarked([...others.keys()], identity.mark)
  return [...members, ...marked.map((pid) => others.get(pid)!)]
}

/**
 * The living processes of many engines in one pass, by the pid of each engine's first process: those of its group and
 * session. Undefined when unknown.
 */
export async function membersOfEach(leaders: ReadonlySet<number>): Promise<Map<number, number[]> | undefined> {
  const pids = listPids()
  if (!pids) return undefined
  const members = new Map([...leaders].map((leader) => [leader, [] as number[]]))
  for (const [index, pid] of pids.entries()) {
    if (index % AT_ONCE === AT_ONCE - 1) await nextTurn()
    const look = lookAt(pid)
    if (look === 'unknown') return undefined
    if (look === 'none' || look.isZombie) continue
    const own = members.get(look.session ?? -1) ?? members.get(look.group ?? -1)
    own?.push(pid)
  }
  return members
}

/** Every process except init and ourselves: neither is ever part of an engine. */
export function listPids(): number[] | undefined {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => pid !== 1 && pid !== process.pid)
  } catch {
    return undefined
  }
}
