import type { Range } from './load/random.ts'
import { MOST, type Part } from './load/mix.ts'
import { parseNumber, parseRange, parseShare, parseSpanRange, type Said } from './values.ts'

/** What may be said of a part of the mix, by flags and in a file: how it is read, and what to say when it cannot be. */
export interface Setting<T> {
  read: (said: Said) => T | undefined
  expected: string
}

type Read = Pick<Part, 'prompt' | 'answer' | 'turns'> & { rate: number; stream: number; think: Range }

export const settings: { readonly [K in keyof Read]: Setting<Read[K]> } = {
  rate: {
    read: (said) => between(parseNumber(said), 0.001, MOST.ratePerS),
    expected: `requests a second, from 0.001 to ${MOST.ratePerS}`,
  },
  prompt: { read: (said) => rangeUpTo(parseRange(said), MOST.tokens), expected: tokens('200 or 50-400') },
  answer: { read: (said) => rangeUpTo(parseRange(said), MOST.tokens), expected: tokens('100 or 20-200') },
  stream: { read: parseShare, expected: 'a share of the requests, such as 80% or 0.8' },
  turns: {
    read: (said) => rangeUpTo(parseRange(said), MOST.turns),
    expected: `requests of one conversation, such as 3 or 1-5, at most ${MOST.turns}`,
  },
  think: {
    read(said) {
      const range = parseSpanRange(said)
      return range && range.most <= MOST.thinkMs ? range : undefined
    },
    expected: 'a time such as 500ms, 2s or 2s-10s, at most 1h',
  },
}

/** What counts where neither the file nor a flag says anything. */
export const DEFAULTS = {
  prompt: { least: 200, most: 200 },
  answer: { least: 100, most: 100 },
  stream: 1,
  turns: { least: 1, most: 1 },
  think: { least: 0, most: 0 },
} as const satisfies Omit<Read, 'rate'>

function tokens(example: string): string {
  return `a number of tokens, such as ${example}, from 1 to ${MOST.tokens}`
}

function between(number: number | undefined, least: number, most: number): number | undefined {
  return number !== undefined && number >= least && number <= most ? number : undefined
}

function rangeUpTo(range: Range | undefined, most: number): Range | undefined {
  return range && range.least >= 1 && range.most <= most ? range : undefined
}
