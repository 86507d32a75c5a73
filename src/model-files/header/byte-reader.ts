import { AppError } from '../../platform/errors.ts'
import type { ByteSource } from './byte-source.ts'

/** Headers with the vocabularies of the largest models have about 20 MB. */
const MOST_HEADER_BYTES = 64 * 2 ** 20
/** The first read suffices for most files that are not models; the vocabulary needs further reads. */
const FIRST_BYTES = 256 * 1024
const NEXT_BYTES = 2 * 2 ** 20

/**
 * Reads numbers and texts in sequence, with as much of the file in memory as that needs. `has` says whether the next
 * bytes are there already, so that long lists are read without an await for each entry.
 */
export class ByteReader {
  readonly #source: ByteSource
  readonly #signal: AbortSignal
  #isLittleEndian = true
  #buffer = Buffer.alloc(0)
  #view = viewOf(this.#buffer)
  /** The buffer's offset in the file, and the position in the buffer. */
  #start = 0
  #at = 0

  constructor(source: ByteSource, signal: AbortSignal) {
    this.#source = source
    this.#signal = signal
  }

  get offset(): number {
    return this.#start + this.#at
  }

  useBigEndian(): void {
    this.#isLittleEndian = false
  }

  has(bytes: number): boolean {
    return this.#at + bytes <= this.#buffer.length
  }

  /** Makes sure that so many bytes can be taken. */
  async need(bytes: number): Promise<void> {
    if (this.has(bytes)) return
    const rest = this.#buffer.subarray(Math.min(this.#at, this.#buffer.length))
    this.#start = this.offset
    // Skipped bytes beyond the buffer are not read at all.
    const from = this.#start + rest.length
    if (from + bytes > MOST_HEADER_BYTES) {
      const most = MOST_HEADER_BYTES / 2 ** 20
      throw new AppError(
        'too_large',
        `The header of ${this.#source.label} is longer than ${most} MiB: that is no model.`,
      )
    }
    const wanted = Math.max(bytes - rest.length, this.#start === 0 ? FIRST_BYTES : NEXT_BYTES)
    const more = await this.#source.read(from, wanted, this.#signal)
    this.#buffer = Buffer.concat([rest, more])
    this.#view = viewOf(this.#buffer)
    this.#at = 0
    if (!this.has(bytes)) throw brokenFile(this.#source.label, 'it ends in the middle of its header')
  }

  skip(bytes: number): void {
    this.#at += bytes
  }

  take(bytes: number): Buffer {
    return this.#buffer.subarray(this.#at, (this.#at += bytes))
  }

  uint32(): number {
    return this.#view.getUint32(this.#step(4), this.#isLittleEndian)
  }

  /** A value that is too large for a number becomes one above every limit. */
  uint64(): number {
    const value = this.#view.getBigUint64(this.#step(8), this.#isLittleEndian)
    return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_VALUE : Number(value)
  }

  /** A number of any of GGUF's kinds. */
  number(bytes: number, kind: 'unsigned' | 'signed' | 'float'): number {
    const at = this.#step(bytes)
    const isLittle = this.#isLittleEndian
    const view = this.#view
    if (kind === 'float') return bytes === 8 ? view.getFloat64(at, isLittle) : view.getFloat32(at, isLittle)
    if (bytes === 8) return Number(kind === 'signed' ? view.getBigInt64(at, isLittle) : view.getBigUint64(at, isLittle))
    if (bytes === 4) return kind === 'signed' ? view.getInt32(at, isLittle) : view.getUint32(at, isLittle)
    if (bytes === 2) return kind === 'signed' ? view.getInt16(at, isLittle) : view.getUint16(at, isLittle)
    return kind === 'signed' ? view.getInt8(at) : view.getUint8(at)
  }

  #step(bytes: number): number {
    const at = this.#at
    this.#at += bytes
    return at
  }
}

export function brokenFile(label: string, why: string): AppError {
  return new AppError('bad_gateway', `${label} is damaged: ${why}. Fetch or convert it again.`)
}

function viewOf(buffer: Buffer): DataView {
  return new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength)
}
