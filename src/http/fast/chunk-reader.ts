/** Receives a chunked body. Pieces are views into the pushed bytes, not copies. */
export interface ChunkEvents {
  onBody(piece: Buffer): void
  /**
   * Several whole chunks with their framing; `isEnd`: they include the end of the body. Where this is missing, the chunks
   * are unpacked and go to `onBody`.
   */
  onChunks?: ((chunks: Buffer, isEnd: boolean) => void) | undefined
}

type State = 'size' | 'data' | 'data end' | 'trailer' | 'ended'

const MOST_SIZE_LINE = 256
const MOST_TRAILER_BYTES = 16 * 1024
const LINE_END = Buffer.from('\r\n')
const PLAIN_END = Buffer.from('0\r\n\r\n')
const [CR, LF] = [0x0d, 0x0a]

/**
 * Reads a chunked body strictly: a hexadecimal size, extensions of plain words, and CR LF. It checks trailer fields and
 * drops them. Throws on anything else.
 */
export class ChunkReader {
  #state: State = 'size'
  #held: Buffer | undefined
  #left = 0
  #trailerBytes = 0

  get hasEnded(): boolean {
    return this.#state === 'ended'
  }

  /** Returns the bytes after the body; undefined while the body goes on. */
  push(bytes: Buffer, events: ChunkEvents): Buffer | undefined {
    let input = this.#held === undefined ? bytes : Buffer.concat([this.#held, bytes])
    this.#held = undefined
    while (this.#state !== 'ended') {
      if (input.length === 0) return undefined
      const used = this.#take(input, events)
      if (used === 0) {
        // A copy, because a view would keep the whole read in memory.
        this.#held = Buffer.from(input)
        return undefined
      }
      input = input.subarray(used)
    }
    return input
  }

  #take(input: Buffer, events: ChunkEvents): number {
    switch (this.#state) {
      case 'size':
        return this.#takeWhole(input, events) || this.#takeSize(input)
      case 'data':
        return this.#takeData(input, events)
      case 'data end':
        return this.#takeDataEnd(input)
      case 'trailer':
        return this.#takeTrailer(input)
      case 'ended':
        return 0
    }
  }

  /** Takes as many whole chunks as have arrived, without looking at their data. */
  #takeWhole(input: Buffer, events: ChunkEvents): number {
    if (!events.onChunks) return 0
    let end = 0
    for (let next = endOfChunk(input, 0); next !== 0; next = endOfChunk(input, next)) end = next
    const isEnd = isPlainEnd(input, end)
    if (isEnd) this.#state = 'ended'
    if (end > 0) events.onChunks(isEnd || end === input.length ? input : input.subarray(0, end), isEnd)
    return isEnd ? input.length : end
  }

  #takeSize(input: Buffer): number {
    const at = lineEnd(input, MOST_SIZE_LINE)
    if (at === -1) return 0
    const digits = SIZE_LINE.exec(input.toString('latin1', 0, at))?.[1]
    if (digits === undefined) throw new Error('Invalid character in chunk size')
    this.#left = Number.parseInt(digits, 16)
    this.#state = this.#left === 0 ? 'trailer' : 'data'
    return at + LINE_END.length
  }

  #takeData(input: Buffer, events: ChunkEvents): number {
    const piece = input.length <= this.#left ? input : input.subarray(0, this.#left)
    this.#left -= piece.length
    if (this.#left === 0) this.#state = 'data end'
    events.onBody(piece)
    return piece.length
  }

  #takeDataEnd(input: Buffer): number {
    if (input[0] !== CR || (input.length > 1 && input[1] !== LF)) throw new Error('A chunk is longer than it said')
    if (input.length < 2) return 0
    this.#state = 'size'
    return 2
  }

  #takeTrailer(input: Buffer): number {
    const at = lineEnd(input, MOST_TRAILER_BYTES - this.#trailerBytes)
    if (at === -1) return 0
    if (at === 0) this.#state = 'ended'
    else if (!TRAILER_LINE.test(input.toString('latin1', 0, at))) throw new Error('Invalid field after the last chunk')
    this.#trailerBytes += at + LINE_END.length
    return at + LINE_END.length
  }
}

/** At most 12 digits, so that no two parsers can read different sizes. */
const SIZE_LINE = /^([0-9a-fA-F]{1,12})(?:;[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:=[!#$%&'*+\-.^_`|~0-9A-Za-z]+)?)*$/
/** Trailer fields must not give a length. */
const TRAILER_LINE = /^(?!content-length:|transfer-encoding:)[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*$/i

function lineEnd(input: Buffer, mostBytes: number): number {
  const at = input.indexOf(LINE_END)
  if (at === -1 ? input.length > mostBytes : at > mostBytes) throw new Error('A line between chunks is too long')
  return at
}

/** The end of the chunk at `start`, if it is complete, not empty and without extensions; else 0. */
function endOfChunk(input: Buffer, start: number): number {
  let size = 0
  let at = start
  for (let digit = hexDigit(input[at]); digit !== -1 && at - start < 6; digit = hexDigit(input[at])) {
    size = size * 16 + digit
    at += 1
  }
  const end = at + size + 4
  if (at === start || size === 0 || end > input.length) return 0
  const isWhole = input[at] === CR && input[at + 1] === LF && input[end - 2] === CR && input[end - 1] === LF
  return isWhole ? end : 0
}

/** Whether the bytes from `start` on are whole chunks or nothing, without the last chunk. */
export function areWholeChunks(input: Buffer, start: number): boolean {
  let end = start
  for (let next = endOfChunk(input, end); next !== 0; next = endOfChunk(input, end)) end = next
  return end === input.length
}

/** Whether a plain last chunk is all that is left. */
function isPlainEnd(input: Buffer, start: number): boolean {
  if (input.length !== start + PLAIN_END.length) return false
  for (let i = 0; i < PLAIN_END.length; i += 1) if (input[start + i] !== PLAIN_END[i]) return false
  return true
}

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}
