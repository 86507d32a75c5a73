import { flagOf, options, type Option } from '../config/options.ts'
import type { Command, Syntax } from '../command.ts'

/** What may be typed at one place, and what it is. */
export interface Word {
  text: string
  help: string
}

/** A place: after a command, or after a command and its subcommand. */
export interface Place {
  /** `nodes`, or `nodes drain`. */
  path: string
  /** Subcommands, or the values of an argument that has few. */
  words: Word[]
  flags: Word[]
}

/** All places of the command line, from the table of commands. */
export function placesOf(commands: readonly Command[]): Place[] {
  return commands.flatMap((command) => {
    const { name, subcommands = [] } = command
    const common = [...command.options.map(optionWord), CONFIG, HELP]
    const own = (syntax: Syntax): Word[] => [...ownWords(syntax), ...common]
    return [
      {
        path: name,
        words: subcommands.length > 0 ? subcommands.map(toWord) : valuesOf(command),
        // Without a subcommand the first is meant, flags and all.
        flags: own(subcommands[0] ?? command),
      },
      ...subcommands.map((one) => ({ path: `${name} ${one.name}`, words: valuesOf(one), flags: own(one) })),
    ]
  })
}

/** Flags that take a value; what follows them is no word of the command. */
export function flagsWithValue(commands: readonly Command[]): string[] {
  const fromOptions = commands.flatMap((command) =>
    command.options.filter((name) => !(options[name] as Option<unknown>).switch).map(flagOf),
  )
  const own = commands
    .flatMap((command): Syntax[] => [command, ...(command.subcommands ?? [])])
    .flatMap(({ flags = {} }) =>
      Object.entries(flags).flatMap(([name, { value, short }]) =>
        value === undefined ? [] : [`--${name}`, ...(short === undefined ? [] : [`-${short}`])],
      ),
    )
  return [...new Set([...fromOptions, ...own, '--config'])].toSorted()
}

const CONFIG: Word = { text: '--config', help: 'Options as YAML' }
const HELP: Word = { text: '--help', help: 'What it does and its options' }

export function toWord({ name, summary }: { name: string; summary: string }): Word {
  return { text: name, help: summary }
}

function optionWord(name: Command['options'][number]): Word {
  return { text: flagOf(name), help: firstSentence(options[name].help) }
}

function ownWords({ flags = {} }: Syntax): Word[] {
  return Object.entries(flags).map(([name, { help }]) => ({ text: `--${name}`, help: firstSentence(help) }))
}

function valuesOf({ arguments: args = [] }: Syntax): Word[] {
  return (args[0]?.values ?? []).map((text) => ({ text, help: '' }))
}

/** Lists of a shell have one line for each. */
function firstSentence(text: string): string {
  return text.split(/[.;:](\s|$)/, 1)[0]!
}
