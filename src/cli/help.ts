import { defaultOf, flagOf, options, variableOf, type Env, type Option } from './config/options.ts'
import { usageOf, type Command, type Subcommand, type Syntax } from './command.ts'
import { commands } from './commands.ts'
import { wrap } from './terminal/wrap.ts'

/** Help fits a terminal of 80 columns. */
const WIDTH = 80

export function generalHelp(): string {
  const rows = commands.map((command) => `  ${command.name.padEnd(12)}${command.summary}`)
  return `Flotilla turns a few machines into one OpenAI-compatible endpoint.

Usage: flotilla <command> [options]

Commands:
${rows.join('\n')}

  flotilla <command> --help   what a command does and its options
  flotilla --version          the version of this program
`
}

export function commandHelp(command: Command, env: Env): string {
  const { name, summary, about, subcommands } = command
  return `${summary}.

${usage(subcommands ? [name, '[<subcommand>]'] : usageOf(command), command)}

${paragraph(about)}
${subcommands ? `\n${subcommandList(name, subcommands)}\n` : ''}
${ownFlags(command)}${optionList(command, env)}

${exampleList(command.examples)}
`
}

export function subcommandHelp(command: Command, subcommand: Subcommand): string {
  const common = `As every subcommand it takes ${command.options.map(flagOf).join(', ')}: see flotilla ${command.name} --help.`
  const about = [subcommand.about, subcommand.arguments?.[0]?.name === 'node' ? command.about : undefined]
  return `${subcommand.summary}.

${usage([command.name, ...usageOf(subcommand)], subcommand)}
${about.flatMap((text) => (text === undefined ? [] : [`\n${paragraph(text)}\n`])).join('')}
${ownFlags(subcommand)}${paragraph(common)}

${exampleList(subcommand.examples)}
`
}

/** Broken between its parts, never within one. */
function usage(parts: readonly string[], { rest }: Syntax): string {
  const all = [...parts, '[options]', ...(rest === undefined ? [] : [`[-- <${rest}>…]`])]
  const begin = 'Usage: flotilla '
  const lines = wrap(all.map((part) => part.replaceAll(' ', '\u00A0')).join(' '), WIDTH - begin.length)
  return begin + lines.join(`\n${' '.repeat(begin.length)}`).replaceAll('\u00A0', ' ')
}

/** The flags of one command, and an empty line; nothing when it has none. */
function ownFlags({ flags = {} }: Syntax): string {
  const texts = Object.entries(flags).map(([name, { value, short, many, help: text, clear }]) => {
    const help = clear === undefined ? text : `${text}; ${clear} takes it back`
    const flag = `${short === undefined ? '' : `-${short}, `}--${name}`
    return flagHelp(value === undefined ? flag : `${flag} <${value}>${many ? '…' : ''}`, help)
  })
  return texts.length === 0 ? '' : `Options:\n${texts.join('\n')}\n\n`
}

function subcommandList(name: string, subcommands: readonly Subcommand[]): string {
  const rows = subcommands.map((one) => [usageOf({ ...one, flags: {}, oneOf: [] }).join(' '), one.summary] as const)
  const width = Math.max(...rows.map(([usage]) => usage.length)) + 2
  return [
    `Subcommands (${subcommands[0]!.name} when none is named):`,
    ...rows.map(([usage, summary]) => `  ${usage.padEnd(width)}${summary}`),
    '',
    `  flotilla ${name} <subcommand> --help says more about one`,
  ].join('\n')
}

function optionList({ name: command, options: names, subcommands, flags }: Command, env: Env): string {
  const common = [
    flagHelp('--config <file>', 'Options as YAML; by default ./flotilla.yaml or the one in ~/.config/flotilla'),
    flagHelp('-h, --help', 'Show this text'),
  ]
  const [example] = names
  if (example === undefined) return `Options:\n${common.join('\n')}`
  const title = subcommands ? 'Options of all subcommands' : flags ? 'More options' : 'Options'
  const ways = `${title} (each also as an environment variable and in flotilla.yaml: ${flagOf(example)}, ${variableOf(example)}, ${example}):`
  return `${paragraph(ways)}
${[...names.map((name) => optionHelp(name, options[name], env, command)), ...common].join('\n')}`
}

function optionHelp(name: string, option: Option<unknown>, env: Env, command: string): string {
  const value = defaultOf(option, env, command)
  const suffix = value === undefined || value === '' || option.switch ? '' : ` (default ${value})`
  return flagHelp(option.switch ? flagOf(name) : `${flagOf(name)} <${option.value}>`, `${option.help}${suffix}`)
}

function exampleList(examples: readonly string[]): string {
  return ['Examples:', ...examples.map((example) => `  ${example}`)].join('\n')
}

function paragraph(text: string): string {
  return wrap(text.replaceAll('\n', ' '), WIDTH).join('\n')
}

function flagHelp(flag: string, text: string): string {
  const indent = 6
  return [`  ${flag}`, ...wrap(text, WIDTH - indent).map((line) => ' '.repeat(indent) + line)].join('\n')
}
