import type { EngineProfile } from '../../api/engine-profile.ts'
import { sleep, type Clock } from '../../platform/run/clock.ts'
import { realProcesses, type Processes } from '../processes/processes.ts'

export interface Awaited {
  profile: Pick<EngineProfile, 'ready' | 'ready_within_s' | 'listens'>
  port: number
  modelBytes: number
  /** An earlier worker started it, and may have died before it handled the line that says that it is ready. */
  isTakenOver?: boolean
  /** How many lines the engine has printed, and whether the line that its profile waits for was among them. */
  lines: { count: () => number; isReadyPrinted: () => boolean }
  /** The memory that the engine holds now; undefined where that cannot be measured. */
  memoryBytes: () => Promise<number | undefined>
  /** Which process listens on the port; undefined where that is unknown. */
  listener: () => Promise<{ isLoopbackOnly: boolean; isOurs: boolean } | undefined>
  /** Sends the readiness request to a port. */
  answers?: Processes['answers']
}

export type Readiness = { ready: true } | { ready: false; why: string }

const POLL_MS = 25
const POLL_MOST_MS = 250
/** Big files take long to read from a slow disk. */
const MS_PER_GIB = 20_000
const GIB = 1024 ** 3
/**
 * Signs of life extend the wait, but not for ever: an engine that only ever prints "please wait" has failed as well.
 */
const MOST_EXTENSIONS = 20
/**
 * A loading engine shows signs of progress; an adopted one that was ready before shows none, and is better restarted.
 */
const DOUBT_MS = 10_000
const PROGRESS_CHECK_MS = 1000
const GROWTH_BYTES = 1024 * 1024

/**
 * Waits until the engine is ready. Gives up after a time without progress (a log line, growing memory) that depends on
 * the profile and the size of the model. Undefined when aborted.
 */
export async function waitUntilReady(
  awaited: Awaited,
  clock: Clock,
  signal: AbortSignal,
): Promise<Readiness | undefined> {
  const limitMs = silenceLimitMs(awaited)
  const beganMs = clock.nowMs()
  const signs = new SignsOfProgress(awaited, clock)
  for (let pollMs = POLL_MS; !signal.aborted; pollMs = Math.min(POLL_MOST_MS, pollMs * 1.1)) {
    if (await isServing(awaited)) {
      const listener = awaited.profile.listens === 'itself' ? await awaited.listener() : undefined
      if (signal.aborted) return undefined
      if (listener && !listener.isLoopbackOnly) return { ready: false, why: openToOthers(awaited.port) }
      // The answer came from another worker's engine, which took the port at the same moment; ours will fail to listen
      // and exit.
      if (!listener || listener.isOurs) return { ready: true }
    }
    const silentMs = await signs.silentMs()
    if (silentMs > limitMs) return { ready: false, why: tooSilent(limitMs) }
    if (clock.nowMs() - beganMs > MOST_EXTENSIONS * limitMs) return { ready: false, why: tooLong(limitMs) }
    await sleep(clock, pollMs, signal)
  }
  return undefined
}

export function silenceLimitMs({
  profile,
  modelBytes,
  isTakenOver = false,
}: Pick<Awaited, 'profile' | 'modelBytes' | 'isTakenOver'>): number {
  const limitMs = profile.ready_within_s * 1000 + Math.ceil((modelBytes / GIB) * MS_PER_GIB)
  return isTakenOver && 'log' in profile.ready ? Math.min(limitMs, DOUBT_MS) : limitMs
}

class SignsOfProgress {
  readonly #awaited: Awaited
  readonly #clock: Clock
  #lines = 0
  #memoryBytes = 0
  #seenMs: number
  #checkedMs = 0

  constructor(awaited: Awaited, clock: Clock) {
    this.#awaited = awaited
    this.#clock = clock
    this.#seenMs = clock.nowMs()
  }

  async silentMs(): Promise<number> {
    const lines = this.#awaited.lines.count()
    let isMoving = lines > this.#lines
    this.#lines = lines
    if (this.#clock.nowMs() - this.#checkedMs >= PROGRESS_CHECK_MS) {
      this.#checkedMs = this.#clock.nowMs()
      const memoryBytes = (await this.#awaited.memoryBytes()) ?? 0
      if (memoryBytes > this.#memoryBytes + GROWTH_BYTES) {
        this.#memoryBytes = memoryBytes
        isMoving = true
      }
    }
    if (isMoving) this.#seenMs = this.#clock.nowMs()
    return this.#clock.nowMs() - this.#seenMs
  }
}

function isServing(awaited: Awaited): boolean | Promise<boolean> {
  const { profile, port, lines, answers = realProcesses.answers } = awaited
  return 'log' in profile.ready ? lines.isReadyPrinted() : answers(port, profile.ready)
}

/** Whether a once ready engine sends any answer; undefined when its profile has no readiness request. */
export async function stillAnswers(
  { profile: { ready }, port }: Awaited,
  { responds }: Pick<Processes, 'responds'>,
): Promise<boolean | undefined> {
  return 'http' in ready ? responds(port, ready.http) : undefined
}

function openToOthers(port: number): string {
  return (
    `The engine listens on port ${port} for other machines, too, where any client could use it without a key. ` +
    'Make it listen on 127.0.0.1: its profile has {{host}} for that.'
  )
}

function tooSilent(limitMs: number): string {
  return `The engine did not become ready: no sign of progress for ${seconds(limitMs)}.`
}

function tooLong(limitMs: number): string {
  return `The engine did not become ready within ${seconds(MOST_EXTENSIONS * limitMs)}.`
}

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`
}
