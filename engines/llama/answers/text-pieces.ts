import type { LlamaModel, Token } from '../native/library.ts'

/** A character has at most 4 bytes, and a token at least one; an incomplete character of 4 tokens is invalid. */
const MOST_HELD = 4
const TAIL = 8
const UNFINISHED = '\uFFFD'

/** Decodes tokens as they come. A character that is spread over tokens is emitted when it is complete. */
export class TextPieces {
  readonly #model: Pick<LlamaModel, 'detokenize'>
  readonly #showSpecial: boolean
  #held: Token[] = []
  /** Earlier tokens, since some tokenizers join words differently at a beginning. */
  #before: Token[]

  constructor(model: Pick<LlamaModel, 'detokenize'>, showSpecial: boolean, prompt: readonly Token[]) {
    this.#model = model
    this.#showSpecial = showSpecial
    this.#before = prompt.slice(-TAIL)
  }

  add(token: Token): string {
    this.#held.push(token)
    const text = this.#model.detokenize(this.#held, this.#showSpecial, this.#before)
    if (text.endsWith(UNFINISHED) && this.#held.length < MOST_HELD) return ''
    return this.#release(text)
  }

  /** The rest, after the last token. */
  rest(): string {
    return this.#held.length === 0
      ? ''
      : this.#release(this.#model.detokenize(this.#held, this.#showSpecial, this.#before))
  }

  #release(text: string): string {
    this.#before = [...this.#before, ...this.#held].slice(-TAIL)
    this.#held = []
    return text
  }
}
