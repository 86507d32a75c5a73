import { sleep, type Clock } from '../../platform/run/clock.ts'
import { findMarkedNow } from './engine-mark.ts'
import { listPids, membersOf } from './engine-members.ts'
import { groupOf, isRunning, type ProcessIdentity } from './process-identity.ts'
import { hasProc, lookAt } from './process-look.ts'

/** Signals a running engine's whole group; does nothing when it no longer runs, or when that is unknown. */
export function signalEngine(identity: ProcessIdentity, signal: NodeJS.Signals): void {
  if (isRunning(identity)) trySignal(-identity.pid, signal)
}

const FIRST_LOOK_MS = 10
const MOST_LOOK_MS = 1000

/**
 * Kills what an engine that ended just now has left in its group, its session or elsewhere with its mark, until no
 * process is left. There is no time limit: a process that hangs in a driver survives even SIGKILL and keeps its memory
 * and its port, and until it ends it must not be reported as gone.
 */
export async function killRest(identity: ProcessIdentity, clock: Clock, signal: AbortSignal): Promise<void> {
  for (let waitMs = FIRST_LOOK_MS; !signal.aborted; waitMs = Math.min(MOST_LOOK_MS, waitMs * 2)) {
    const group = groupOf(identity)
    if (group !== 'unknown' && (await killRound(identity, group === 'ours'))) return
    await sleep(clock, waitMs, signal)
  }
}

/**
 * After an engine was told to end and its first process has ended: waits until its group and its session are empty, or
 * `enough` is aborted. A shell ends at once by a signal to which its program reacts only after seconds.
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
 * Kills what is left of an engine that ended unobserved. Another process may have its pid by now, so only the mark
 * counts; without /proc nothing is found. False when a process survived 2 s of it.
 */
export async function killStrays(identity: ProcessIdentity, clock: Clock): Promise<boolean> {
  for (let round = 0; round < STRAY_ROUNDS; round += 1) {
    if (await killRound(identity, false)) return true
    await sleep(clock, STRAY_ROUND_MS)
  }
  return false
}

/** True when no process was left. */
async function killRound(identity: ProcessIdentity, byGroup: boolean): Promise<boolean> {
  // One signal for the whole group: if its members were killed one by one, the rest could start others meanwhile.
  const isGroupEmpty = !byGroup || !trySignal(-identity.pid, 'SIGKILL')
  const members = await membersOf(identity, { byGroup, byMark: true })
  for (const { pid, startedAt } of members ?? []) {
    const look = lookAt(pid)
    // Another process may have taken the pid since it was found.
    if (typeof look === 'object' && look.startedAt === startedAt) trySignal(pid, 'SIGKILL')
  }
  // A group of zombies accepts signals until its parent reaps it, but it does nothing any more.
  return members ? members.length === 0 : isGroupEmpty && !hasProc
}

/** For the last moment of this process, when it cannot await anything. */
export function killNow(identities: readonly ProcessIdentity[]): void {
  if (identities.length === 0) return
  for (const identity of identities) signalEngine(identity, 'SIGKILL')
  const marks = identities.map(({ mark }) => mark)
  for (const pid of findMarkedNow(listPids() ?? [], marks)) trySignal(pid, 'SIGKILL')
}

/** False when no process has that number. */
function trySignal(target: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(target, signal)
    return true
  } catch {
    // ESRCH: gone. EPERM: another user's, or, on macOS, a group of zombies.
    return false
  }
}
