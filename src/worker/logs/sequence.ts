import { readFile, rename, writeFile } from 'node:fs/promises'
import { isFull } from '../../platform/full-disk.ts'
import { writeShort } from '../../platform/write-whole.ts'

/** Numbers reserved at a time. A crash skips at most this many. */
const BLOCK = 100_000

/**
 * The numbers of all lines of the node. A number that a reader has seen must never be given out again, even if the
 * worker was killed before the line reached the disk: the reader would continue after it and miss the new line. So a
 * file holds an upper bound of the numbers given out, always well ahead of them.
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

  /** Continues above both the file's bound and `highest`, the highest number in use. */
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

  /** Reserves more numbers when half of them are used. */
  reserve(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#reserved - this.#last <= BLOCK / 2) await this.#write(this.#last + BLOCK)
    })
  }

  /** Returns the unused numbers, so that an orderly restart leaves no gap. */
  release(): Promise<void> {
    return this.#inTurn(() => this.#write(this.#last))
  }

  /** Atomic: half a file would be read as a lower number. */
  async #write(reserved: number): Promise<void> {
    const temporary = `${this.#file}.new`
    const text = `${reserved}\n`
    try {
      await writeFile(temporary, text, { mode: 0o600 })
      await rename(temporary, this.#file)
    } catch (error) {
      if (!isFull(error)) throw error
      // A worker must start on a full disk, too: its engines wait for it.
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
  // After a power cut the file may be garbage; the lines on disk then show the highest number.
  return Number.isSafeInteger(number) && number > 0 ? number : 0
}
