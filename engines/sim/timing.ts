/**
 * How long a simulated engine takes, as arithmetic. Nothing here waits or reads a clock, so the simulator of the whole
 * product computes with the very numbers that the engine process sleeps by.
 */
export interface Timing {
  /** Fixed cost before the first token, however short the prompt. */
  ttftMs: number
  /** Speed of reading the prompt; 0 means that it takes no time. */
  prefillTokensPerS: number
  /** Speed of writing, for each stream; 0 means as fast as possible. */
  tokensPerS: number
}

export const defaultTiming: Timing = { ttftMs: 50, prefillTokensPerS: 20_000, tokensPerS: 60 }

/** From the start in a slot to the first token. A cached prefix is not read again. */
export function timeToFirstTokenMs(timing: Timing, promptTokens: number, cachedTokens: number): number {
  const unread = Math.max(0, promptTokens - cachedTokens)
  const prefillMs = timing.prefillTokensPerS === 0 ? 0 : (unread * 1000) / timing.prefillTokensPerS
  return timing.ttftMs + prefillMs
}

/** Between one token and the next. */
export function tokenDelayMs(timing: Timing): number {
  return timing.tokensPerS === 0 ? 0 : 1000 / timing.tokensPerS
}

/** From the start in a slot to the last token; an answer of no tokens still costs the prefill. */
export function requestMs(
  timing: Timing,
  tokens: { promptTokens: number; cachedTokens: number; completionTokens: number },
): number {
  const firstMs = timeToFirstTokenMs(timing, tokens.promptTokens, tokens.cachedTokens)
  return firstMs + Math.max(0, tokens.completionTokens - 1) * tokenDelayMs(timing)
}
