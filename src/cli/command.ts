import type { OptionName } from './config/options.ts'

/** The commands as data: the parser and the help read the same declarations. */
export interface Command extends Syntax {
  name: string
  summary: string
  /** What to know before using it, in a few lines. */
  about: string
  options: readonly OptionName[]
  examples: readonly string[]
  /** The first one is the default. */
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
  /** The name, in help texts, of the arguments after `--`. */
  rest?: string
}

export interface Argument {
  name: string
  optional?: true
  /** Takes all further arguments. */
  many?: true
  /** The value that resets it. */
  clear?: string
  /** The allowed values. */
  values?: readonly string[]
}

export interface Flag {
  /** The placeholder for the value in help texts; without it the flag takes none. */
  value?: string
  /** One letter that stands for it. */
  short?: string
  /** May be given more than once, each with a value. */
  many?: true
  /** The value that resets what the flag has set, if the setting is permanent. */
  clear?: string
  help: string
}

/** The options of every command that talks to a cluster. */
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
