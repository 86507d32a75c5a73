import { StringDecoder } from 'node:string_decoder'

/** A longer line is cut here and its rest is dropped: an engine that never ends its line must not fill our memory. */
export const MOST_LINE_CHARS = 8192

/**
 * Splits bytes into lines. As on a terminal, text after a carriage return replaces the line so far: a progress bar
 * leaves its last state. Bytes that are not UTF-8 become U+FFFD.
 */
export class LineCutter {
  readonly #decoder = new StringDecoder('utf8')
  readonly #onLine: (line: string) => void
  #rest = ''

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine
  }

  push(bytes: Buffer): void {
    const [first = '', ...others] = this.#decoder.write(bytes).split('\n')
    this.#rest += first
    for (const next of others) {
      this.#onLine(shown(this.#rest))
      this.#rest = next
    }
    // A carriage return at the end may be half of a line end, or the start of a replacement for the line.
    this.#rest = shown(this.#rest) + (this.#rest.endsWith('\r') ? '\r' : '')
  }

  /** Emits the text after the last line end as a line. */
  flush(): void {
    const rest = shown(this.#rest + this.#decoder.end())
    this.#rest = ''
    if (rest !== '') this.#onLine(rest)
  }
}

function shown(text: string): string {
  let end = text.length
  while (text[end - 1] === '\r') end -= 1
  const start = text.lastIndexOf('\r', end - 1) + 1
  const line = text.slice(start, Math.min(end, start + MOST_LINE_CHARS))
  // Does not cut between the two halves of a character.
  return line.length === MOST_LINE_CHARS && /[\uD800-\uDBFF]$/.test(line) ? line.slice(0, -1) : line
}
