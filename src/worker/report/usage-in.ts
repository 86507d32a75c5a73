export interface Usage {
  input: number
  output: number
}

/**
 * How many tokens an answer says it was, from its first and its last bytes: `usage` as OpenAI, Anthropic and those who do
 * as they write it, or the timings that llama.cpp adds to each stream. Undefined when neither is there. In the text of an
 * answer quotes are escaped, so what a model says is not taken for it.
 */
export function usageIn(first: string, last: string): Usage | undefined {
  const input = countIn(last, INPUT) ?? countIn(first, INPUT)
  const output = countIn(last, OUTPUT) ?? countIn(first, OUTPUT)
  // What answers with vectors has no output, and says so by its absence.
  if (input !== undefined) return { input, output: output ?? 0 }
  return timingsIn(last)
}

const INPUT = /"(?:prompt|input)_tokens"\s*:\s*(\d{1,9})/
const OUTPUT = /"(?:completion|output)_tokens"\s*:\s*(\d{1,9})/
/** Beyond this there is something else than the usage. */
const USAGE_CHARACTERS = 600

function countIn(text: string, pattern: RegExp): number | undefined {
  const at = text.lastIndexOf('"usage"')
  const match = at === -1 ? null : pattern.exec(text.slice(at, at + USAGE_CHARACTERS))
  return match ? Number(match[1]) : undefined
}

function timingsIn(text: string): Usage | undefined {
  const at = text.lastIndexOf('"timings"')
  if (at === -1) return undefined
  const timings = text.slice(at)
  const read = (name: string): number => Number(new RegExp(`"${name}"\\s*:\\s*(\\d{1,9})`).exec(timings)?.[1] ?? 0)
  return { input: read('cache_n') + read('prompt_n'), output: read('predicted_n') }
}
