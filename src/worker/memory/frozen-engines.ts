import type { Clock } from '../../platform/run/clock.ts'
import { messageOf } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'
import { RepeatedLines } from '../../platform/run/repeated-lines.ts'
import { startLoop, type Loop } from '../../platform/run/loop.ts'

/** A replica as this watch sees it. */
export interface WatchedReplica {
  readonly state: string
  readonly inFlight: number
  /** The engine's first process; undefined while there is none. */
  readonly pid: number | undefined
  /** Whether its engine answers its health check; undefined when it has none. */
  answers(): Promise<boolean | undefined>
  /** Ends the engine; the replica has failed. */
  abandon(why: string): Promise<void>
}

export interface FrozenDeps {
  replicas: () => readonly WatchedReplica[]
  /** Processor time that engines have used so far, by the pid of each one's first process. Undefined when unknown. */
  workOf: (leaders: ReadonlySet<number>) => Promise<Map<number, number> | undefined>
  clock: Clock
  log: Logger
}

const LOOK_EVERY_MS = 3000
/** How many looks in a row must find no work and no answer. */
const FROZEN_AFTER_LOOKS = 3
const FROZEN_TEXT = `The engine stands still: it has requests, has done nothing for ${(FROZEN_AFTER_LOOKS * LOOK_EVERY_MS) / 1000} s and does not answer.`

interface Seen {
  work: number
  stillLooks: number
}

/**
 * Finds engines that have stopped working while requests wait for them: suspended, or in a deadlock. A busy engine uses
 * the processor, or answers its health check; one that does neither will not finish its requests, so its replica is
 * replaced.
 */
export function watchFrozenEngines({ replicas, workOf, clock, log }: FrozenDeps): Pick<Loop, 'dispose'> {
  let seen = new Map<number, Seen>()
  const turn = async (): Promise<void> => {
    const waited = replicas().filter(({ state, inFlight }) => state === 'ready' && inFlight > 0)
    const byPid = new Map(waited.flatMap((replica) => (replica.pid === undefined ? [] : [[replica.pid, replica]])))
    const work = byPid.size === 0 ? undefined : await workOf(new Set(byPid.keys()))
    const now = new Map<number, Seen>()
    await Promise.all(
      [...byPid].map(async ([pid, replica]) => {
        const done = work?.get(pid)
        if (done === undefined) return
        const before = seen.get(pid)
        const isStill = before?.work === done && (await replica.answers()) === false
        const stillLooks = isStill ? before.stillLooks + 1 : 0
        now.set(pid, { work: done, stillLooks })
        if (stillLooks >= FROZEN_AFTER_LOOKS && replica.pid === pid) await replica.abandon(FROZEN_TEXT)
      }),
    )
    seen = now
  }
  const lines = new RepeatedLines(clock)
  const onError = (thrown: unknown): void => {
    const error = messageOf(thrown)
    lines.tell(error, (repeated) => log.warn({ error, ...repeated }, 'engines cannot be watched now'))
  }
  return startLoop({ periodMs: LOOK_EVERY_MS, turn, clock, onError })
}
