import type { Ask } from './asker.ts'
import type { Part } from './mix.ts'
import { makePrompt } from './prompt.ts'
import { within, type Random } from './random.ts'

/** A simulated user: one request, or several with pauses between them. */
export class Conversation {
  readonly part: Part
  readonly #random: Random
  readonly #messages: Ask['messages'][number][] = []
  #turnsLeft: number
  #promptTokens = 0

  constructor(part: Part, random: Random) {
    this.part = part
    this.#random = random
    this.#turnsLeft = within(part.turns, random)
  }

  get isOver(): boolean {
    return this.#turnsLeft === 0
  }

  /** The next request, with all earlier messages. */
  nextAsk(): Ask {
    const { model, prompt, answer, streamShare } = this.part
    const tokens = within(prompt, this.#random)
    this.#promptTokens += tokens
    this.#messages.push({ role: 'user', content: makePrompt(tokens, this.#random) })
    this.#turnsLeft -= 1
    return {
      model,
      messages: this.#messages,
      maxTokens: within(answer, this.#random),
      isStreamed: this.#random() < streamShare,
      promptTokens: this.#promptTokens,
      keepsText: !this.isOver,
    }
  }

  /** Adds an answer and returns how long the user thinks. */
  hear(text: string, tokens: number): number {
    this.#messages.push({ role: 'assistant', content: text })
    this.#promptTokens += tokens
    return within(this.part.thinkMs, this.#random)
  }
}
