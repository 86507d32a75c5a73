import type { OptionName } from '../config/options.ts'

/** What can be asked for on the command line, as data: the parser and the help read the same declarations. */
export interface Command {
  name: string
  summary: string
  /** What a person should know before using it, in a few lines. */
  about: string
  options: readonly OptionName[]
  examples: readonly string[]
  /** The first is meant when none is named. */
  subcommands?: readonly Subcommand[]
}

export interface Subcommand {
  name: string
  summary: string
  about?: string
  arguments?: readonly Argument[]
  /** Flags of this subcommand alone; not options, for they make no sense in a file or the environment. */
  flags?: Readonly<Record<string, Flag>>
  examples: readonly string[]
}

export interface Argument {
  name: string
  optional?: true
  /** Takes all that follows. */
  many?: true
}

export interface Flag {
  /** What stands for the value in help texts; without it the flag stands alone. */
  value?: string
  help: string
}

/** `drain <node> [--wait]`: as help texts show it. Flags with a value are told below it. */
export function usageOf({ name, arguments: args = [], flags = {} }: Subcommand): string {
  const words = args.map(({ name: what, optional, many }) => {
    const word = `<${what}>${many ? '…' : ''}`
    return optional ? `[${word}]` : word
  })
  const alone = Object.entries(flags).flatMap(([flag, { value }]) => (value === undefined ? [`[--${flag}]`] : []))
  return [name, ...words, ...alone].join(' ')
}
