import { sleep, type Clock } from '../../platform/run/clock.ts'
import { messageOf } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'
import type { Reading } from './hardware.ts'

export interface Source<T> {
  /** What is known within `patienceMs`; null when nothing is known, or the last value is too old. Never rejects. */
  sample(patienceMs: number): Promise<Sample<T> | null>
}

export interface Sample<T> {
  value: T
  /** Since it was read: 0 for a fresh read. */
  ageMs: number
  /** When its read began. */
  begunMs: number
}

export interface SourceOptions<T> {
  name: string
  read: () => Promise<Reading<T>>
  clock: Clock
  log: Pick<Logger, 'info' | 'warn'>
}

/**
 * How long a value survives failed reads. Reloads of the driver or of systemd (which takes the GPU from a container for
 * a moment) and overload pass within minutes, and a node whose GPUs come and go would have its replicas moved. A GPU
 * that is really gone takes its engines with it, and their ends are reported at once.
 */
const HELD_FOR_MS = 5 * 60_000

/** Slow answers are not logged before this, let alone at every heartbeat. */
const SLOW_FOR_MS = 15_000

/**
 * One part of the machine. At most one read runs at a time: one that hangs gets no company, and once it has exceeded
 * the patience, callers no longer wait for it. When it ends after all, its value counts for the next sample.
 */
export function createSource<T>({ name, read, clock, log }: SourceOptions<T>): Source<T> {
  let last: { value: T; atMs: number; begunMs: number } | undefined
  let underWay: { startedMs: number; done: Promise<void> } | undefined
  let isFailing = false

  async function attempt(begunMs: number): Promise<void> {
    // One more turn of the event loop, so that `underWay` is set before it is cleared.
    await Promise.resolve()
    let reading: Reading<T>
    try {
      reading = await read()
    } catch (error) {
      reading = { ok: false, why: messageOf(error) }
    }
    underWay = undefined
    if (!reading.ok) return failed(reading.why)
    last = { value: reading.value, atMs: clock.nowMs(), begunMs }
    if (isFailing) log.info({ source: name }, 'hardware: can be read again')
    isFailing = false
  }

  /** Logged once, and only for a part that has worked before: a machine without that hardware has no problem. */
  function failed(why: string): void {
    if (!isFailing && last) log.warn({ source: name, why }, 'hardware: cannot be read, keeping what was known')
    isFailing ||= last !== undefined
  }

  return {
    async sample(patienceMs) {
      const nowMs = clock.nowMs()
      underWay ??= { startedMs: nowMs, done: attempt(nowMs) }
      const leftMs = underWay.startedMs + patienceMs - clock.nowMs()
      if (leftMs > 0) await settledWithin(underWay.done, leftMs, clock)
      if (!last) return null
      const ageMs = Math.max(0, clock.nowMs() - last.atMs)
      if (underWay && ageMs > SLOW_FOR_MS) failed(`no answer for ${ageMs} ms`)
      if (ageMs <= HELD_FOR_MS) return { value: last.value, ageMs, begunMs: last.begunMs }
      last = undefined
      log.warn({ source: name }, 'hardware: could not be read for too long, no longer reported')
      return null
    },
  }
}

async function settledWithin(work: Promise<void>, limitMs: number, clock: Clock): Promise<void> {
  const stop = new AbortController()
  await Promise.race([work, sleep(clock, limitMs, stop.signal)])
  stop.abort()
}
