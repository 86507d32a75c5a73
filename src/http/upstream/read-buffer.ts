/** Most of what is read and written is requests, answers and tokens; longer ones take long enough without. */
const MOST_KEPT = 1024

/**
 * Memory for one thing after another: what is in it is used up before anything else is put there. The buffer for each
 * length is kept, since Node takes longer to make one than to copy most of what is in it.
 */
export class Scratch {
  readonly all = Buffer.allocUnsafeSlow(64 * 1024)
  readonly #kept: (Buffer | undefined)[] = Array.from({ length: MOST_KEPT + 1 })

  /** The first so many bytes of it. */
  first(length: number): Buffer {
    if (length > MOST_KEPT) return this.all.subarray(0, length)
    return (this.#kept[length] ??= this.all.subarray(0, length))
  }
}
