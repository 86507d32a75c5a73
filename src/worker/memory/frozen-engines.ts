import type { Clock } from '../../platform/run/clock.ts'
import { messageOf } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'
import { RepeatedLines } from '../../platform/run/repeated-lines.ts'
import { startLoop, type Loop } from '../../platform/run/loop.ts'

/** A replica as it is seen here. */
export interface WatchedReplica {
  readonly state: string
  readonly inFlight: number
  /** Of the engine's first process; undefined while there is none. */
  readonly pid: number | undefined
  /** Whether its engine answers when it is asked how it is; undefined when it cannot be asked. */
  answers(): Promise<boolean | undefined>
  /** Ends the engine; the replica has failed. */
  abandon(why: string): Promise<void>
}

export interface FrozenDeps {
  replicas: () => readonly WatchedReplica[]
  /** Processor time that engines have used so far, by the number of each one's first process. Undefined when that cannot be told. */
  workOf: (leaders: ReadonlySet<number>) => Promise<Map<number, number> | undefined>
  clock: Clock
  log: Logger
}

const LOOK_EVERY_MS = 3000
/** Looks in a row that have found nothing done and no answer. */
const FROZEN_AFTER_LOOKS = 3
const FROZEN_TEXT = `The engine stands still: it has requests, has done nothing for ${(FROZEN_AFTER_LOOKS * LOOK_EVERY_MS) / 1000} s and does not answer.`

interface Seen {
  work: number
  stillLooks: number
}

/**
 * Finds engines that stand still while somebody waits for them: stopped, or in a deadlock. One that is only busy uses the
 * processor, or says that it is well; one that does neither will answer nobody, and its replica is better replaced.
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
