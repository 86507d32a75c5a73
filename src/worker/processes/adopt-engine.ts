import { sleep, type Clock } from '../../platform/run/clock.ts'
import { followEngine, type EngineHooks, type EngineProcess, type Exit } from './engine-process.ts'
import { reopenPipe, streams } from './log-pipes.ts'
import { LogReader } from './log-reader.ts'
import { isRunning, stateOf, type ProcessIdentity } from './process-identity.ts'
import { hasProc } from './process-look.ts'

/**
 * Adopts an engine that an earlier run of the worker started, and reads its lines from where that run stopped.
 * Undefined when it no longer runs: `killStrays` then ends what it may have left behind.
 */
export function adoptEngine(
  identity: ProcessIdentity,
  folder: string,
  { clock, onLine }: EngineHooks,
): EngineProcess | undefined {
  if (!isRunning(identity)) return undefined
  const pipes = streams.map((stream) => reopenPipe(folder, stream, identity.pid))
  const left = new AbortController()
  return followEngine({
    identity,
    folder,
    logs: new LogReader(pipes, onLine),
    ended: endOf(identity, clock, left.signal),
    clock,
    onLeave: () => left.abort(),
  })
}

/** The engine is not our child, so its end must be polled. Without /proc each look is a `ps`, so there are fewer. */
const LOOK_MS = hasProc ? 250 : 1000

async function endOf(
  identity: ProcessIdentity,
  clock: Clock,
  left: AbortSignal,
): Promise<Pick<Exit, 'code' | 'signal'>> {
  while (!left.aborted && stateOf(identity) !== 'ended') await sleep(clock, LOOK_MS, left)
  return { code: null, signal: null }
}
