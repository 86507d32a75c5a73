import type { Draft } from './draft.ts'
import type { LlamaModel } from './native/library.ts'
import { probabilityOf, type TokenProbability } from './answers/probabilities.ts'
import { StopFinder } from './answers/stop-finder.ts'
import { TextPieces } from './answers/text-pieces.ts'

export interface Wording {
  stop: readonly string[]
  /** Show special tokens, with which some models begin tool calls. */
  showSpecial: boolean
  /** How many alternatives to report with each token; undefined: none. */
  logprobs: number | undefined
}

/** A piece of an answer, with its tokens if probabilities were requested. */
export interface Piece {
  text: string
  tokens: TokenProbability[]
}

/** The token counts of an answer so far; final when its pieces have ended. */
export interface Tally {
  promptTokens: number
  cachedTokens: number
  completionTokens: number
  finishReason: 'stop' | 'length'
}

/** Turns the tokens of a draft into pieces of text. Ends early, without an error, when the client disconnects. */
export async function* generate(
  model: LlamaModel,
  draft: Draft,
  { stop: stops, showSpecial, logprobs }: Wording,
  tally: Tally,
  signal: AbortSignal,
): AsyncGenerator<Piece, void> {
  const { prompt, maxTokens } = draft.job
  const pieces = new TextPieces(model, showSpecial, prompt)
  const finder = new StopFinder(stops)
  let tokens: TokenProbability[] = []
  tally.finishReason = 'stop'
  for (let sampled = await draft.next(); sampled !== undefined; sampled = await draft.next()) {
    if (signal.aborted) return
    const { token, probabilities } = sampled
    tally.completionTokens += 1
    if (logprobs !== undefined && probabilities) tokens.push(probabilityOf(model, token, probabilities, logprobs))
    const { text, stop } = finder.add(pieces.add(token))
    if (text !== '' || (tokens.length > 0 && stop === undefined)) {
      yield { text, tokens }
      tokens = []
      if (signal.aborted) return
    }
    if (stop !== undefined) return
    if (tally.completionTokens >= maxTokens) tally.finishReason = 'length'
  }
  const { text, stop } = finder.add(pieces.rest())
  const left = stop === undefined ? text + finder.rest() : text
  if (left !== '' || tokens.length > 0) yield { text: left, tokens }
}
