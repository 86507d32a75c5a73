/** Most reads and writes are short requests, answers and tokens. For longer ones the cost of a new view does not matter. */
const MOST_KEPT = 1024

/**
 * Memory that is reused: its content is consumed before the next one is put there. The view of each length is kept, because
 * making one takes Node longer than copying most contents.
 */
export class Scratch {
  readonly all = Buffer.allocUnsafeSlow(64 * 1024)
  readonly #kept: (Buffer | undefined)[] = Array.from({ length: MOST_KEPT + 1 })

  /** The first `length` bytes. */
  first(length: number): Buffer {
    if (length > MOST_KEPT) return this.all.subarray(0, length)
    return (this.#kept[length] ??= this.all.subarray(0, length))
  }
}
