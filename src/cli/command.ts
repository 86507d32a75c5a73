import type { OptionName } from './config/options.ts'

/** What can be asked for on the command line, as data: the parser and the help read the same declarations. */
export interface Command extends Syntax {
  name: string
  summary: string
  /** What a person should know before using it, in a few lines. */
  about: string
  options: readonly OptionName[]
  examples: readonly string[]
  /** The first is meant when none is named. */
  subcommands?: readonly Subcommand[]
}

export interface Subcommand extends Syntax {
  name: string
  summary: string
  about?: string
  examples: readonly string[]
}

/** What may stand beside the options. */
export interface Syntax {
  arguments?: readonly Argument[]
  /** Flags of this command alone; not options, for they make no sense in a file or the environment. */
  flags?: Readonly<Record<string, Flag>>
  /** Flags of which one has to be given. */
  oneOf?: readonly string[]
  /** What follows `--`, taken as it stands: its name in help texts. */
  rest?: string
}

export interface Argument {
  name: string
  optional?: true
  /** Takes all that follows. */
  many?: true
  /** The value that takes back what it sets. */
  clear?: string
  /** All that it may be. */
  values?: readonly string[]
}

export interface Flag {
  /** What stands for the value in help texts; without it the flag stands alone. */
  value?: string
  /** One letter that stands for it. */
  short?: string
  /** May be given more than once, each with a value. */
  many?: true
  /** The value that takes back what the flag has set, where it changes something that stays. */
  clear?: string
  help: string
}

/** What every command takes that talks to a cluster. */
export const clientOptions: readonly OptionName[] = ['url', 'key', 'ca', 'fingerprint', 'json', 'data']

/** `drain`, `<node>`, `[--wait]`: as help texts show it. Other flags with a value are told below it. */
export function usageOf({ name, arguments: args = [], flags = {}, oneOf = [] }: Syntax & { name: string }): string[] {
  const words = args.map(({ name: what, optional, many, values }) => {
    const word = values ? values.join('|') : `<${what}>${many ? '…' : ''}`
    return optional ? `[${word}]` : word
  })
  const alone = Object.entries(flags).flatMap(([flag, { value }]) =>
    value === undefined && !oneOf.includes(flag) ? [`[--${flag}]`] : [],
  )
  const needed = oneOf.map((flag) => (flags[flag]?.value ? `--${flag} <${flags[flag].value}>` : `--${flag}`))
  return [name, ...words, ...(needed.length === 0 ? [] : [`(${needed.join(' | ')})`]), ...alone]
}
