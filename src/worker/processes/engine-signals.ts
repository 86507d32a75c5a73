import { sleep, type Clock } from '../../platform/run/clock.ts'
import { findMarkedNow } from './engine-mark.ts'
import { listPids, membersOf } from './engine-members.ts'
import { groupOf, isRunning, type ProcessIdentity } from './process-identity.ts'
import { hasProc, lookAt } from './process-look.ts'

/** Signals a running engine's whole group; nobody when it does not run any more, or that cannot be told. */
export function signalEngine(identity: ProcessIdentity, signal: NodeJS.Signals): void {
  if (isRunning(identity)) trySignal(-identity.pid, signal)
}

const FIRST_LOOK_MS = 10
const MOST_LOOK_MS = 1000

/**
 * Kills what an engine that ended just now has left in its group, its session or elsewhere with its mark, until there
 * is nothing. There is no limit: what hangs in a driver outlives even SIGKILL, keeps its memory and its port, and as long
 * as that lasts nobody should be told that it is gone.
 */
export async function killRest(identity: ProcessIdentity, clock: Clock, signal: AbortSignal): Promise<void> {
  for (let waitMs = FIRST_LOOK_MS; !signal.aborted; waitMs = Math.min(MOST_LOOK_MS, waitMs * 2)) {
    const group = groupOf(identity)
    if (group !== 'unknown' && (await killRound(identity, group === 'ours'))) return
    await sleep(clock, waitMs, signal)
  }
}

/**
 * Waits until an engine that was told to end, and whose first process has, has nobody left in its group and its session,
 * or `enough` is aborted. A shell ends at once by the signal that the program it runs takes seconds to obey.
 */
export async function untilGroupEnds(identity: ProcessIdentity, clock: Clock, enough: AbortSignal): Promise<void> {
  for (let waitMs = FIRST_LOOK_MS; !enough.aborted; waitMs = Math.min(MOST_LOOK_MS, waitMs * 2)) {
    const group = groupOf(identity)
    if (group === 'empty') return
    const members = group === 'ours' ? await membersOf(identity, { byGroup: true, byMark: false }) : undefined
    if (members ? members.length === 0 : !hasProc && !trySignal(-identity.pid, 0)) return
    await sleep(clock, waitMs, enough)
  }
}

const STRAY_ROUNDS = 20
const STRAY_ROUND_MS = 100

/**
 * Kills what is left of an engine that ended when nobody looked. Its number may be anybody's by now, so only the mark
 * counts; without /proc nothing is found. False when something survived 2 s of it.
 */
export async function killStrays(identity: ProcessIdentity, clock: Clock): Promise<boolean> {
  for (let round = 0; round < STRAY_ROUNDS; round += 1) {
    if (await killRound(identity, false)) return true
    await sleep(clock, STRAY_ROUND_MS)
  }
  return false
}

/** True when there was nobody left. */
async function killRound(identity: ProcessIdentity, byGroup: boolean): Promise<boolean> {
  // At once and as one: members that are looked for one by one could start others meanwhile.
  const isGroupEmpty = !byGroup || !trySignal(-identity.pid, 'SIGKILL')
  const members = await membersOf(identity, { byGroup, byMark: true })
  for (const { pid, startedAt } of members ?? []) {
    const look = lookAt(pid)
    // Its number may have gone to somebody else since it was found.
    if (typeof look === 'object' && look.startedAt === startedAt) trySignal(pid, 'SIGKILL')
  }
  // A group of zombies can be signalled for as long as nobody takes note of them, but it does nothing any more.
  return members ? members.length === 0 : isGroupEmpty && !hasProc
}

/** For the last moment of this process, in which nothing can be waited for. */
export function killNow(identities: readonly ProcessIdentity[]): void {
  if (identities.length === 0) return
  for (const identity of identities) signalEngine(identity, 'SIGKILL')
  const marks = identities.map(({ mark }) => mark)
  for (const pid of findMarkedNow(listPids() ?? [], marks)) trySignal(pid, 'SIGKILL')
}

/** False when there is nobody of that number. */
function trySignal(target: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(target, signal)
    return true
  } catch {
    // ESRCH: gone. EPERM: somebody else's, or, on macOS, a group of zombies.
    return false
  }
}
