export interface Usage {
  input: number
  output: number
}

/**
 * The number of tokens that an answer reports, from its first and its last bytes: `usage` as OpenAI, Anthropic and
 * compatible servers write it, or the timings that llama.cpp adds to each stream. Undefined when neither is there.
 * Quotes are escaped inside an answer's text, so the model's own words cannot be mistaken for it.
 */
export function usageIn(first: string, last: string): Usage | undefined {
  const input = countIn(last, INPUT) ?? countIn(first, INPUT)
  const output = countIn(last, OUTPUT) ?? countIn(first, OUTPUT)
  // Embedding answers have no output tokens and leave the field out.
  if (input !== undefined) return { input, output: output ?? 0 }
  return timingsIn(last)
}

const INPUT = /"(?:prompt|input)_tokens"\s*:\s*(\d{1,9})/
const OUTPUT = /"(?:completion|output)_tokens"\s*:\s*(\d{1,9})/
/** Text farther than this from the end is not the usage. */
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
