import type { GrammarState, Token } from './library.ts'
import { nativeGrammarState, type SamplerConfig } from './native.ts'
import type { Sampling } from '../requests.ts'

/** As many as llama.cpp's own server looks at for penalties. */
const RECENT_TOKENS = 64

export function samplerConfig(
  sampling: Sampling,
  seed: number,
  prompt: readonly Token[],
  isEnd: (token: Token) => boolean,
  grammar: GrammarState | undefined,
): SamplerConfig {
  const { temperature, topK, topP, minP, repeatPenalty, frequencyPenalty, presencePenalty } = sampling
  const punishes = repeatPenalty !== 1 || frequencyPenalty !== 0 || presencePenalty !== 0
  // Biases of end tokens are ignored: an answer must be able to end.
  const bias = [...sampling.bias].filter(([token]) => !isEnd(token))
  return {
    temperature,
    topK,
    topP,
    minP,
    // llama.cpp takes 32 bits.
    seed: seed >>> 0,
    ...(punishes && {
      repeatPenalty,
      repeatPenaltyFrequencyPenalty: frequencyPenalty,
      repeatPenaltyPresencePenalty: presencePenalty,
      repeatPenaltyMaxTokens: RECENT_TOKENS,
      repeatPenaltyTokens: Uint32Array.from(prompt.slice(-RECENT_TOKENS)),
    }),
    ...(bias.length > 0 && {
      tokenBiasKeys: Uint32Array.from(bias, ([token]) => token),
      tokenBiasValues: Float32Array.from(bias, ([, logit]) => logit),
    }),
    ...(grammar && { grammarEvaluationState: nativeGrammarState(grammar) }),
  }
}
