import { widthOf } from '../terminal/text-width.ts'

/** A word is held back until it is whole, but no longer than this: some languages write without spaces. */
const MOST_HELD = 24
const TAB = '    '

/** Breaks a text that comes in pieces between words, so that none is cut in two at the edge of the terminal. */
export class WordWrap {
  readonly #columns: number
  #column = 0
  #spaces = ''
  #word = ''

  constructor(columns: number) {
    this.#columns = columns
  }

  /** What may be shown now. */
  feed(text: string): string {
    let shown = ''
    for (const part of text.split(/([ \t\n])/)) {
      if (part === '\n') {
        shown += `${this.flush()}\n`
        this.#column = 0
        this.#spaces = ''
      } else if (part === ' ' || part === '\t') {
        shown += this.flush()
        this.#spaces += part === '\t' ? TAB : ' '
      } else {
        this.#word += part
        if (widthOf(this.#word) > MOST_HELD) shown += this.flush()
      }
    }
    return shown
  }

  /** The word that is held back, if there is one. */
  flush(): string {
    if (this.#word === '') return ''
    const [word, spaces] = [this.#word, this.#spaces]
    const width = widthOf(word)
    const isTooWide = this.#column > 0 && this.#column + spaces.length + width > this.#columns
    this.#word = ''
    this.#spaces = ''
    // What is wider than the terminal is broken by the terminal itself.
    this.#column = (isTooWide ? width : this.#column + spaces.length + width) % this.#columns || this.#columns
    return isTooWide ? `\n${word}` : spaces + word
  }
}
