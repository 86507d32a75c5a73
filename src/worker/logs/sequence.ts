import { readFile, rename, writeFile } from 'node:fs/promises'
import { isFull } from '../../platform/full-disk.ts'
import { writeShort } from '../../platform/write-whole.ts'

/** Numbers set aside in one go. A crash skips at most so many. */
const BLOCK = 100_000

/**
 * The numbers of all lines of the node. A number that a reader has seen must never come again, not even when the worker
 * was killed before the line reached the disk: the reader would go on after it and miss the new one. So a file says up to
 * where numbers may have been given out, always well ahead of those that were.
 */
export class Sequence {
  readonly #file: string
  #last: number
  #reserved = 0
  #work: Promise<unknown> = Promise.resolve()

  private constructor(file: string, last: number) {
    this.#file = file
    this.#last = last
  }

  /** Goes on above whatever the file says and above `highest`, the highest number that is in use. */
  static async open(file: string, highest: number): Promise<Sequence> {
    const sequence = new Sequence(file, Math.max(highest, await readNumber(file)))
    await sequence.reserve()
    return sequence
  }

  /** The newest number given out. */
  get last(): number {
    return this.#last
  }

  next(): number {
    this.#last += 1
    return this.#last
  }

  /** Sets more numbers aside when half of them are gone. */
  reserve(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#reserved - this.#last <= BLOCK / 2) await this.#write(this.#last + BLOCK)
    })
  }

  /** Gives back what was set aside, so that an orderly restart leaves no gap. */
  release(): Promise<void> {
    return this.#inTurn(() => this.#write(this.#last))
  }

  /** Whole or not at all: a file half-written would be taken for a smaller number. */
  async #write(reserved: number): Promise<void> {
    const temporary = `${this.#file}.new`
    const text = `${reserved}\n`
    try {
      await writeFile(temporary, text, { mode: 0o600 })
      await rename(temporary, this.#file)
    } catch (error) {
      if (!isFull(error)) throw error
      // A worker has to start on a full disk, too: its engines wait for it.
      writeShort(this.#file, text)
    }
    this.#reserved = reserved
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(work)
    this.#work = done.catch(() => {})
    return done
  }
}

async function readNumber(file: string): Promise<number> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const number = Number(text)
  // A power cut may leave nonsense; the lines on disk then say how far we were.
  return Number.isSafeInteger(number) && number > 0 ? number : 0
}
