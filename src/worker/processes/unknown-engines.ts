import { sleep, type Clock } from '../../platform/run/clock.ts'
import { marksOf } from './engine-mark.ts'
import { listPids, membersOf } from './engine-members.ts'
import { killStrays } from './engine-signals.ts'
import { machineBoot, type ProcessIdentity } from './process-identity.ts'

const LOOKS = 50
const LOOK_MS = 100

/**
 * Ends the engines of this worker that its journal does not know, because the journal was deleted or is from an older
 * copy of the folder. Such an engine cannot be adopted, yet holds memory and a port. Each has 5 s to end by itself.
 * Returns how many there were.
 */
export async function endUnknownEngines(worker: string, known: ReadonlySet<string>, clock: Clock): Promise<number> {
  const marks = (await marksOf(listPids() ?? [], worker)).filter((mark) => !known.has(mark))
  await Promise.all(marks.map((mark) => endMarked(mark, clock)))
  return marks.length
}

async function endMarked(mark: string, clock: Clock): Promise<void> {
  // Only its mark is known; no process is older than the boot.
  const identity: ProcessIdentity = { pid: 0, startedAt: '0', boot: machineBoot(), mark }
  const members = () => membersOf(identity, { byGroup: false, byMark: true })
  for (const { pid } of (await members()) ?? []) tell(pid)
  for (let look = 0; look < LOOKS && (await members())?.length !== 0; look += 1) await sleep(clock, LOOK_MS)
  await killStrays(identity, clock)
}

function tell(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM')
  } catch {
    // It has ended since it was found.
  }
}
