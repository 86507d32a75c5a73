/** Most reads are of requests, answers and tokens; longer ones take long enough without. */
const MOST_KEPT = 1024

/**
 * Memory that all connections of a kind are read into, one after the other: what was read is used up before anything else
 * is. The buffer for each length is kept, since Node takes longer to make one than to read most heads.
 */
export class ReadMemory {
  readonly all = Buffer.allocUnsafeSlow(64 * 1024)
  readonly #kept: (Buffer | undefined)[] = Array.from({ length: MOST_KEPT + 1 })

  /** The first so many bytes of it. */
  first(length: number): Buffer {
    if (length > MOST_KEPT) return this.all.subarray(0, length)
    return (this.#kept[length] ??= this.all.subarray(0, length))
  }
}
