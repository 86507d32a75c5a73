/** What every answer has, whichever engine gives it. */

export interface TokenCounts {
  promptTokens: number
  completionTokens: number
  cachedTokens: number
}

export function usageOf({ promptTokens, completionTokens, cachedTokens }: TokenCounts): object {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  }
}

/** Unlike the text, ids must differ between requests and replicas. */
export function randomId(): string {
  return Math.random().toString(36).slice(2) + Math.random().toString(36).slice(2)
}
