import { parseArgs } from './builtins.ts'

/** A mistake in the flags: printed, with exit code 2. */
export class UsageError extends Error {}

export interface NumberFlag {
  default?: number
  least: number
  most: number
  whole: boolean
}

/** The given flags, as texts. Those named in `bare` take no value; `help` is always among them. */
export function readFlags(args: readonly string[], names: readonly string[], bare: readonly string[] = []) {
  const options = Object.fromEntries([
    ...names.map((name) => [name, { type: 'string' as const }] as const),
    ...bare.map((name) => [name, { type: 'boolean' as const }] as const),
    ['help', { type: 'boolean', short: 'h' } as const],
  ])
  try {
    const { values } = parseArgs({ args: [...args], strict: true, options })
    return new Map(Object.entries(values).map(([name, value]) => [name, String(value)]))
  } catch (error) {
    // parseArgs adds advice about positionals, which no engine takes.
    const [said = ''] = (error instanceof Error ? error.message : String(error)).split(/\. |\n/)
    throw new UsageError(said)
  }
}

export function numberOf(flag: string, kind: NumberFlag, given: string | undefined): number {
  const { least, most, whole, default: fallback } = kind
  if (given === undefined) {
    if (fallback === undefined) throw new UsageError(`--${flag} is required`)
    return fallback
  }
  const value = /^-?\d+(\.\d+)?$/.test(given) ? Number(given) : Number.NaN
  if (value >= least && value <= most && (!whole || Number.isSafeInteger(value))) return value
  throw new UsageError(
    `--${flag} takes a ${whole ? 'whole ' : ''}number from ${least} to ${most}, not ${JSON.stringify(given)}`,
  )
}
