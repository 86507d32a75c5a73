/** The text that is safe to send so far, and the stop that was found, if any. */
export interface Found {
  text: string
  stop?: string
}

/**
 * Finds the first of several stop texts in a text that arrives in pieces. A possible beginning of one is held back
 * until it is clear, so that no part of a stop is ever sent.
 */
export class StopFinder {
  readonly #stops: readonly string[]
  #held = ''

  constructor(stops: readonly string[]) {
    this.#stops = stops
  }

  /** Adds the next piece. After a stop was found, add no more. */
  add(piece: string): Found {
    if (this.#stops.length === 0) return { text: piece }
    const text = this.#held + piece
    let at = -1
    let found: string | undefined
    for (const stop of this.#stops) {
      const index = text.indexOf(stop)
      if (index >= 0 && (found === undefined || index < at)) {
        at = index
        found = stop
      }
    }
    if (found !== undefined) {
      this.#held = text.slice(at + found.length)
      return { text: text.slice(0, at), stop: found }
    }
    const keep = Math.max(0, ...this.#stops.map((stop) => overlap(text, stop)))
    this.#held = text.slice(text.length - keep)
    return { text: text.slice(0, text.length - keep) }
  }

  /** The held-back text: the rest when the text has ended, or what came after the stop. */
  rest(): string {
    const text = this.#held
    this.#held = ''
    return text
  }
}

/** The length of the longest end of `text` that is a beginning of `stop`, but not all of it. */
function overlap(text: string, stop: string): number {
  for (let length = Math.min(text.length, stop.length - 1); length > 0; length -= 1) {
    if (text.endsWith(stop.slice(0, length))) return length
  }
  return 0
}
