import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { closeSync, constants, openSync, rmSync, writeSync } from 'node:fs'

const PIECE = Buffer.from(`${'x'.repeat(1023)}\n`)

/** A process that copies a pipe into a file, as a log driver does, and that can stand still. */
export class LogReader {
  readonly #pipe: string
  readonly #process: ChildProcess
  /** Keeps the pipe from ending while what writes into it is down. */
  readonly #held: number

  constructor(file: string) {
    this.#pipe = `${file}.pipe`
    const made = spawnSync('mkfifo', ['-m', '600', this.#pipe])
    if (made.status !== 0) throw new Error(`cannot make ${this.#pipe}`)
    this.#held = openSync(this.#pipe, constants.O_RDWR)
    const into = openSync(file, 'a')
    this.#process = spawn('cat', [this.#pipe], { stdio: ['ignore', into, 'ignore'] })
    closeSync(into)
  }

  /** The end to write to. */
  open(): number {
    return openSync(this.#pipe, constants.O_RDWR)
  }

  stop(): void {
    this.#process.kill('SIGSTOP')
    const end = openSync(this.#pipe, constants.O_WRONLY | constants.O_NONBLOCK)
    try {
      for (;;) writeSync(end, PIECE)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    } finally {
      closeSync(end)
    }
  }

  goOn(): void {
    this.#process.kill('SIGCONT')
  }

  dispose(): void {
    this.#process.kill('SIGKILL')
    closeSync(this.#held)
    rmSync(this.#pipe, { force: true })
  }
}
