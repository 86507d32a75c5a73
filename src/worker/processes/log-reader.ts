import { Socket } from 'node:net'
import { sleep, type Clock } from '../../platform/run/clock.ts'
import { LineCutter } from './line-cutter.ts'
import { streams, type Stream } from './log-pipes.ts'

export type OnLine = (stream: Stream, line: string) => void

const LAST_LINES = 20
/** How long we keep reading after the engine's end while a process it started still holds its pipes. */
const READ_ON_MS = 500
const READ_ON_STEPS = 20

/**
 * For one stream: 4 MB/s. An engine that writes more waits for its own output, as on a slow terminal; read at full
 * speed, 236 MB/s cost this process 0.67 of a core.
 */
const MOST_AT_ONCE_BYTES = 400_000
const AT_ONCE_MS = 100

/** Reads the lines of one engine. */
export class LogReader {
  /** Of both streams, in the order of arrival, the newest last. */
  readonly lastLines: string[] = []
  readonly #readers: { socket: Socket; cutter: LineCutter; ended: Promise<void> }[]

  /** Takes ownership of the descriptors; undefined for a stream that cannot be read. */
  constructor(fds: readonly (number | undefined)[], onLine: OnLine, rewrite = (line: string): string => line) {
    this.#readers = streams.flatMap((stream, index) => {
      const fd = fds[index]
      if (fd === undefined) return []
      const cutter = new LineCutter((raw) => {
        const line = rewrite(raw)
        this.lastLines.push(line)
        if (this.lastLines.length > LAST_LINES) this.lastLines.shift()
        onLine(stream, line)
      })
      const socket = new Socket({ fd, readable: true, writable: false })
      const pace = paced(socket)
      socket.on('data', (bytes: Buffer) => {
        cutter.push(bytes)
        pace(bytes.length)
      })
      // A failing pipe counts as ended; `close` follows.
      socket.on('error', () => {})
      return [{ socket, cutter, ended: new Promise<void>((resolve) => socket.once('close', () => resolve())) }]
    })
  }

  /** Call it after the engine's end: resolves when its last lines are read and `others` is done, or soon after. */
  async finish(others: Promise<unknown>, clock: Clock): Promise<void> {
    const over = new AbortController()
    const all = Promise.all([others, ...this.#readers.map(({ ended }) => ended)]).then(() => over.abort())
    // In small steps: after a pause of this process, one long step would be over before anything is read.
    for (let step = 0; step < READ_ON_STEPS && !over.signal.aborted; step += 1) {
      await Promise.race([all, sleep(clock, READ_ON_MS / READ_ON_STEPS, over.signal)])
    }
    this.close()
  }

  /** Stops reading; an incomplete last line counts as a line. */
  close(): void {
    for (const { socket, cutter } of this.#readers) {
      socket.destroy()
      cutter.flush()
    }
  }
}

/**
 * The returned function counts each piece, and pauses a stream that exceeds its share until the next tenth of a second.
 */
function paced(socket: Socket): (bytes: number) => void {
  let sinceMs = performance.now()
  let read = 0
  return (bytes) => {
    const nowMs = performance.now()
    if (nowMs - sinceMs >= AT_ONCE_MS) {
      sinceMs = nowMs
      read = 0
    }
    read += bytes
    if (read < MOST_AT_ONCE_BYTES) return
    socket.pause()
    setTimeout(() => socket.resume(), AT_ONCE_MS - (nowMs - sinceMs)).unref()
  }
}
