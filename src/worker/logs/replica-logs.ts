import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { LogEntry, LogLine } from '../../api/admin/schemas.ts'
import { sleep, type Clock } from '../../platform/run/clock.ts'
import { AppError, messageOf } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'
import { startLoop, type Loop } from '../../platform/run/loop.ts'
import { cutLine } from './cut-line.ts'
import { logFileName } from './file-name.ts'
import { followLines, readLines, type Batch } from './follow.ts'
import type { LogQuery, LookedAt } from './look.ts'
import { ReplicaLog } from './replica-log.ts'
import { surplusLogs } from './retention.ts'
import { logNamesAmong, replicaOf, Segments } from './segments.ts'
import { Sequence } from './sequence.ts'

export interface ReplicaLogsDeps {
  clock: Clock
  log: Logger
}

/** How long lines wait to be written together: what a kill -9 may lose on disk. */
const BATCH_MS = 20
/** The longest pause between attempts while the disk fails; old logs are looked for at the same interval. */
const PERIOD_MS = 60_000

/**
 * The logs of all replicas that run or ran on this node. One sequence numbers all lines: it orders the merged log of a
 * model, resumes any view, and lets replicas that start later join one.
 *
 * A name is the key of a replica (`<model>#<index>`), or a model's name, which means all its replicas. If both fit, the
 * key wins.
 */
export class ReplicaLogs {
  readonly #folder: string
  readonly #deps: ReplicaLogsDeps
  readonly #logs: Map<string, ReplicaLog>
  readonly #sequence: Sequence
  readonly #waiters = new Set<Waiter>()
  readonly #stop = new AbortController()
  readonly #loop: Loop
  #problem: string | undefined

  private constructor(folder: string, deps: ReplicaLogsDeps, logs: Map<string, ReplicaLog>, sequence: Sequence) {
    this.#folder = folder
    this.#deps = deps
    this.#logs = logs
    this.#sequence = sequence
    const turn = async (): Promise<void> => {
      await sleep(deps.clock, BATCH_MS, this.#stop.signal)
      await this.#store()
    }
    this.#loop = startLoop({ periodMs: PERIOD_MS, turn, clock: deps.clock, onError: (error) => this.#warn(error) })
  }

  /** Continues from what an earlier run left in the folder, however that run ended. */
  static async open(folder: string, deps: ReplicaLogsDeps): Promise<ReplicaLogs> {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const logs = await loadLogs(folder)
      const highest = Math.max(0, ...[...logs.values()].map(({ lastSeq }) => lastSeq))
      return new ReplicaLogs(folder, deps, logs, await Sequence.open(join(folder, 'sequence'), highest))
    } catch (error) {
      const hint = 'Change its owner or permissions, or make room on the disk.'
      throw new AppError('usage', `Cannot keep logs in ${folder}: ${messageOf(error)}. ${hint}`, { cause: error })
    }
  }

  /** Aborted when this ends; every follower then ends as well. */
  get stopped(): AbortSignal {
    return this.#stop.signal
  }

  /** Takes a line of an engine. Never waits and never throws; readers and the disk fetch it when they can. */
  write(key: string, stream: LogLine['stream'], text: string): void {
    if (this.#stop.signal.aborted) return
    const log = this.#logs.get(key) ?? this.#create(key)
    const at = this.#deps.clock.nowMs()
    log.push({ seq: this.#sequence.next(), at, replica: key, stream, text: cutLine(text) })
    this.#loop.wake()
    for (const waiter of this.#waiters) {
      if (waiter.name === key || waiter.name === log.modelName) waiter.wake()
    }
  }

  /** The engine has ended: its lines leave memory once they are on disk. The next write opens the log again. */
  close(key: string): void {
    this.#logs.get(key)?.close()
  }

  /** The last lines of a key's engine: of its last run only, and only until that was closed. */
  lastLines(key: string, count: number): string[] {
    return this.#logs.get(key)?.lastTexts(count) ?? []
  }

  /** One entry for each model. */
  entries(): LogEntry[] {
    const logs = [...this.#logs.values()].toSorted((a, b) => a.replicaIndex - b.replicaIndex)
    return [...Map.groupBy(logs, ({ modelName }) => modelName)]
      .map(([modelName, replicas]) => ({ model_name: modelName, replicas: replicas.map(entryOf) }))
      .toSorted((a, b) => (a.model_name < b.model_name ? -1 : 1))
  }

  /** The last `limit` matching lines; with `after`, the first ones above it. */
  read(name: string, query: LogQuery): Promise<LogLine[]> {
    return readLines(this.#at(name), query)
  }

  /** The lines of `read`, then each new line, in batches, as fast as the caller asks for them. */
  follow(name: string, query: LogQuery, signal: AbortSignal): AsyncGenerator<Batch, void> {
    const either = AbortSignal.any([signal, this.#stop.signal])
    const at = { ...this.#at(name), news: (after: number) => this.#news(name, after, either) }
    return followLines(at, query, either)
  }

  /** Writes everything so far to disk, as far as the disk accepts it. */
  async flush(): Promise<void> {
    await this.#store().catch((error: unknown) => this.#warn(error))
  }

  async dispose(): Promise<void> {
    this.#stop.abort()
    await this.#loop.dispose()
    await this.flush()
    await this.#sequence.release().catch((error: unknown) => this.#warn(error))
  }

  #create(key: string): ReplicaLog {
    const log = new ReplicaLog(key, new Segments(this.#folder, logFileName(key)))
    this.#logs.set(key, log)
    return log
  }

  #at(name: string): LookedAt {
    return { find: () => this.#find(name), lastSeq: () => this.#sequence.last }
  }

  #find(name: string): ReplicaLog[] {
    const exact = this.#logs.get(name)
    return exact ? [exact] : [...this.#logs.values()].filter(({ modelName }) => modelName === name)
  }

  #news(name: string, after: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#find(name).some(({ lastSeq }) => lastSeq > after)) return Promise.resolve()
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiters.delete(waiter)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      const waiter = { name, wake }
      this.#waiters.add(waiter)
      signal.addEventListener('abort', wake, { once: true })
    })
  }

  /** A log that cannot be written does not stop the others from being written. */
  async #store(): Promise<void> {
    const problems: unknown[] = []
    const attempt = (work: Promise<void>): Promise<void> => work.catch((error: unknown) => void problems.push(error))
    await attempt(this.#sequence.reserve())
    for (const log of this.#logs.values()) await attempt(log.flush())
    for (const log of surplusLogs([...this.#logs.values()], this.#deps.clock.nowMs())) {
      log.remove()
      this.#logs.delete(log.key)
    }
    if (problems.length > 0) throw problems[0]
    this.#problem = undefined
  }

  /** Logs each problem once, not once for each attempt. */
  #warn(error: unknown): void {
    const problem = messageOf(error)
    if (problem !== this.#problem)
      this.#deps.log.warn({ error: problem }, 'the logs of replicas cannot be written to disk')
    this.#problem = problem
  }
}

interface Waiter {
  name: string
  wake: () => void
}

async function loadLogs(folder: string): Promise<Map<string, ReplicaLog>> {
  const logs = new Map<string, ReplicaLog>()
  for (const name of logNamesAmong(await readdir(folder))) {
    const segments = new Segments(folder, name)
    const lines = await segments.load()
    // No line in it can be read: it is the start of a first line. The next line must not be appended to that.
    if (lines.length === 0) segments.remove()
    const key = replicaOf(lines, name)
    if (key !== undefined) logs.set(key, new ReplicaLog(key, segments, lines))
  }
  return logs
}

function entryOf({ key, length, firstSeq, lastSeq, lastAt }: ReplicaLog): LogEntry['replicas'][number] {
  return { key, lines: length, first_seq: firstSeq, last_seq: lastSeq, last_at: lastAt }
}
