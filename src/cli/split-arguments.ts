import { parseArgs } from 'node:util'

export interface DeclaredFlag {
  /** With its dashes. */
  flag: string
  /** One letter that stands for it. */
  short?: string | undefined
  /** It needs no value; alone it means true. */
  isAlone: boolean
}

export interface SplitArguments {
  words: string[]
  given: GivenFlag[]
  /** What follows `--`, if that is there. */
  rest: string[] | undefined
}

export interface GivenFlag {
  flag: string
  value: string | undefined
}

/** Sorts arguments into words and flags with their values. Unknown flags pass through; the caller reports them. */
export function splitArguments(args: string[], declared: readonly DeclaredFlag[]): SplitArguments {
  const options = Object.fromEntries(
    declared.map(({ flag, short, isAlone }) => [
      flag.slice(2),
      { type: isAlone ? ('boolean' as const) : ('string' as const), ...(short === undefined ? {} : { short }) },
    ]),
  )
  const shorts = new Map<string, string>(
    declared.flatMap(({ flag, short }) => (short === undefined ? [] : [[`-${short}`, flag] as const])),
  )
  const alone = new Set(declared.flatMap(({ flag, isAlone }) => (isAlone ? [flag] : [])))
  const words: string[] = []
  const given: GivenFlag[] = []
  let rest: string[] | undefined
  // Not strict: the messages of node:util are not written for users.
  for (const token of parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true }).tokens) {
    if (token.kind === 'option-terminator') rest = []
    else if (token.kind === 'positional') (rest ?? words).push(token.value)
    else {
      const flag = shorts.get(token.rawName) ?? token.rawName
      // If a flag follows in place of the value, the value was forgotten.
      const isForgotten = token.inlineValue === false && token.value.startsWith('--')
      const value = alone.has(flag) ? (token.value ?? 'true') : token.value
      given.push({ flag, value: isForgotten ? undefined : value })
    }
  }
  return { words, given, rest }
}
