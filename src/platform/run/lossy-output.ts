import { constants, fstatSync, openSync, write, writeSync } from 'node:fs'
import { isatty } from 'node:tty'

/** The limit of unwritten bytes. Beyond it whole entries are dropped and counted. */
const MOST_WAITING_BYTES = 256 * 1024
/** The most that one call writes, so that a slow reader does not get everything at once. */
const MOST_AT_ONCE_BYTES = 64 * 1024
const RETRY_MS = { first: 20, most: 500 }
/**
 * The pause after an error such as a full disk. It is longer than for a slow reader, because each attempt is a failing
 * system call.
 */
const AFTER_ERROR_MS = 1000
/** Shorter pauses are normal for any reader. */
const STUCK_AFTER_MS = 2000

export interface OutputTrouble {
  /** The error code of the last attempt: EAGAIN when the reader does not read. */
  code: string
  sinceMs: number
  /** Entries dropped since the last report. */
  lost: number
}

/**
 * Writes text to a file descriptor and never waits for it: what the reader or the disk does not take is kept up to a
 * bound, then dropped and counted. The count goes to `onLost` as soon as everything that was kept is written.
 *
 * A pipe or a terminal is opened once more, without blocking, so that other holders of it notice nothing. A socket
 * cannot be opened again and is made non-blocking itself. A file always blocks, so a thread writes it.
 */
export class LossyOutput {
  readonly #fd: number
  readonly #isFile: boolean
  readonly #nowMs: () => number
  onLost: ((lost: number) => void) | undefined
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #lost = 0
  #failure: { code: string; sinceMs: number } | undefined
  /** Since when a thread has been writing. */
  #writingSinceMs: number | undefined
  #writingBytes = 0
  #retryMs = RETRY_MS.first
  #retry: NodeJS.Timeout | undefined

  constructor(fd: number, nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
    this.#isFile = isRegularFile(fd)
    this.#fd = this.#isFile ? fd : withoutBlocking(fd)
  }

  /** One entry: one line of the log, or several that belong together. */
  write(text: string): void {
    const isFree = this.#waiting.length === 0 && !this.#isBusy
    if (isFree && !this.#isFile && this.#writeWhole(text)) return
    this.#keep(text)
  }

  /** Writes what can be written without waiting, just before the process exits. */
  flushNow(): void {
    // A thread finishes what it has begun to write: the process ends after its threads.
    if (this.#writingSinceMs !== undefined) this.#drop(this.#writingBytes)
    while (this.#waiting.length > 0) if (this.#writeSome() !== undefined) return
    this.#reportLost()
  }

  /** Resolves when everything is written, or after so long. */
  async flush(withinMs: number): Promise<void> {
    const giveUpMs = this.#nowMs() + withinMs
    for (;;) {
      this.#step()
      if (this.#waiting.length === 0 && this.#writingSinceMs === undefined) return
      if (this.#nowMs() >= giveUpMs) return
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS.first))
    }
  }

  /** Why nothing can be written, while that lasts. */
  trouble(): OutputTrouble | undefined {
    const lost = this.#lost
    const { code, sinceMs } = this.#failure ?? { code: 'EAGAIN', sinceMs: this.#writingSinceMs ?? Infinity }
    if (this.#nowMs() - sinceMs < STUCK_AFTER_MS) return undefined
    return Number.isFinite(sinceMs) ? { code, sinceMs, lost } : undefined
  }

  get #isBusy(): boolean {
    return this.#writingSinceMs !== undefined || this.#failure !== undefined
  }

  #keep(text: string): void {
    const bytes = Buffer.from(text)
    // After one dropped entry the next ones are dropped, too, so that the report of the loss stands at the gap.
    if (this.#lost > 0 || this.#waitingBytes + bytes.length > MOST_WAITING_BYTES) {
      this.#lost += 1
      this.#later()
      return
    }
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
    if (this.#isFile) this.#step()
    else this.#later()
  }

  /** False, and keeps the rest, when only a part could be written. */
  #writeWhole(text: string): boolean {
    const size = Buffer.byteLength(text)
    if (size > MOST_AT_ONCE_BYTES) return false
    try {
      const written = writeSync(this.#fd, text)
      if (written === size) return true
      const rest = Buffer.from(text).subarray(written)
      this.#waiting.push(rest)
      this.#waitingBytes += rest.length
      this.#later()
      return true
    } catch (error) {
      this.#failed(error)
      return false
    }
  }

  #later(): void {
    if (this.#retry || this.#writingSinceMs !== undefined) return
    const isOften = this.#failure === undefined || this.#failure.code === 'EAGAIN'
    const delayMs = isOften ? this.#retryMs : AFTER_ERROR_MS
    this.#retryMs = Math.min(RETRY_MS.most, this.#retryMs * 2)
    this.#retry = setTimeout(() => {
      this.#retry = undefined
      this.#step()
    }, delayMs)
    this.#retry.unref()
  }

  #step(): void {
    if (this.#writingSinceMs !== undefined) return
    if (this.#isFile) return this.#writeInThread()
    while (this.#waiting.length > 0) {
      if (this.#writeSome() !== undefined) return this.#later()
    }
    this.#reportLost()
  }

  /** Undefined when some bytes were written, else the error code. */
  #writeSome(): string | undefined {
    const chunk = this.#nextChunk()
    try {
      this.#took(writeSync(this.#fd, chunk))
      return undefined
    } catch (error) {
      return this.#failed(error)
    }
  }

  #writeInThread(): void {
    if (this.#waiting.length === 0) return this.#reportLost()
    const chunk = this.#nextChunk()
    this.#writingSinceMs = this.#nowMs()
    this.#writingBytes = chunk.length
    write(this.#fd, chunk, 0, chunk.length, null, (error, written) => {
      this.#writingSinceMs = undefined
      if (error) {
        this.#failed(error)
        return this.#later()
      }
      this.#took(written)
      this.#writeInThread()
    })
  }

  #nextChunk(): Buffer {
    const [first] = this.#waiting
    if (first!.length >= MOST_AT_ONCE_BYTES || this.#waiting.length === 1) return first!.subarray(0, MOST_AT_ONCE_BYTES)
    let size = 0
    const many = this.#waiting.filter(({ length }, index) => {
      size += length
      return index === 0 || size <= MOST_AT_ONCE_BYTES
    })
    return Buffer.concat(many)
  }

  #took(written: number): void {
    this.#failure = undefined
    this.#retryMs = RETRY_MS.first
    this.#drop(written)
  }

  #drop(bytes: number): void {
    this.#waitingBytes -= bytes
    let left = bytes
    while (left > 0) {
      const [first] = this.#waiting
      if (first!.length > left) {
        this.#waiting[0] = first!.subarray(left)
        return
      }
      left -= first!.length
      this.#waiting.shift()
    }
  }

  #failed(error: unknown): string {
    const { code = 'EIO' } = error as NodeJS.ErrnoException
    this.#failure = { code, sinceMs: this.#failure?.sinceMs ?? this.#nowMs() }
    return code
  }

  #reportLost(): void {
    const lost = this.#lost
    if (lost === 0) return
    this.#lost = 0
    this.onLost?.(lost)
  }
}

function isRegularFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile()
  } catch {
    return false
  }
}

/** A descriptor of the same pipe, terminal or socket that returns EAGAIN instead of blocking. */
function withoutBlocking(fd: number): number {
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch {
    // A socket, a pipe of another user, or a system without /proc. Node makes it non-blocking at the first access.
    if (!isatty(fd)) void (fd === 1 ? process.stdout : process.stderr)
    return fd
  }
}
