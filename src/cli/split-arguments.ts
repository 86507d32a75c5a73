import { parseArgs } from 'node:util'

export interface DeclaredFlag {
  /** With its dashes. */
  flag: string
  /** It needs no value; alone it means true. */
  isAlone: boolean
}

export interface GivenFlag {
  flag: string
  value: string | undefined
}

/** Sorts arguments into words and flags with their values. Unknown flags come through: who asks knows what to say. */
export function splitArguments(
  args: string[],
  declared: readonly DeclaredFlag[],
): { words: string[]; given: GivenFlag[] } {
  const options = Object.fromEntries(
    declared.map(({ flag, isAlone }) => [
      flag.slice(2),
      { type: isAlone ? ('boolean' as const) : ('string' as const) },
    ]),
  )
  const alone = new Set(declared.flatMap(({ flag, isAlone }) => (isAlone ? [flag] : [])))
  const words: string[] = []
  const given: GivenFlag[] = []
  // Not strict: the messages of node:util are not written for users.
  for (const token of parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true }).tokens) {
    if (token.kind === 'positional') words.push(token.value)
    else if (token.kind === 'option-terminator') given.push({ flag: '--', value: undefined })
    else if (alone.has(token.rawName)) given.push({ flag: token.rawName, value: token.value ?? 'true' })
    // A flag in place of a value is a value that was forgotten.
    else if (token.inlineValue === false && token.value.startsWith('--')) {
      given.push({ flag: token.rawName, value: undefined })
    } else given.push({ flag: token.rawName, value: token.value })
  }
  return { words, given }
}
