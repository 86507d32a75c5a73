const LEAST_BYTES = 4096

/**
 * Collects pieces in one buffer, at most twice as long as what has arrived (and at least 4 KiB). A list of pieces would
 * take some 100 bytes for each: with chunks of one byte, 100 times what was sent.
 */
export class GrowingBytes {
  length = 0
  readonly #expected: number
  #bytes: Buffer | undefined

  /** `expected` is the announced length, if known. No memory is reserved for it. */
  constructor(expected = Number.POSITIVE_INFINITY) {
    this.#expected = expected
  }

  push(piece: Buffer): void {
    const needed = this.length + piece.length
    if (this.length === 0 && needed >= this.#expected) this.#bytes = piece
    else {
      this.#makeRoom(needed)
      piece.copy(this.#bytes!, this.length)
    }
    this.length = needed
  }

  take(): Buffer {
    return this.#bytes?.subarray(0, this.length) ?? Buffer.alloc(0)
  }

  #makeRoom(needed: number): void {
    const before = this.#bytes
    if (before && before.length >= needed) return
    const size = Math.max(needed, Math.min(this.#expected, Math.max(2 * needed, LEAST_BYTES)))
    this.#bytes = Buffer.allocUnsafeSlow(size)
    before?.copy(this.#bytes, 0, 0, this.length)
  }
}
