import { flagOf, options, type Option, type OptionName } from './config/options.ts'
import type { Given } from './config/sources.ts'
import { nearNames } from '../core/lib/near-names.ts'
import { AppError } from '../platform/errors.ts'
import type { Command, Subcommand, Syntax } from './command.ts'
import { commands } from './commands.ts'
import { splitArguments, type DeclaredFlag, type GivenFlag } from './split-arguments.ts'

export interface Invocation {
  command: Command
  subcommand: Subcommand | undefined
  /** What stands beside the flags, as the subcommand declares it. */
  values: string[]
  /** The subcommand's own flags; one that stands alone has the value `true`. */
  own: Map<string, string>
  /** Those of them that may be given more than once. */
  lists: Map<string, string[]>
  /** What follows `--`, if that is there. */
  rest: string[] | undefined
  flags: Map<OptionName, Given>
  configFile: string | undefined
}

export type Arguments =
  | { kind: 'help'; command: Command | undefined; subcommand?: Subcommand | undefined }
  | { kind: 'version' }
  | ({ kind: 'run' } & Invocation)

/** Parses the command line. Errors suggest the closest existing name. */
export function parseArguments(args: readonly string[]): Arguments {
  const [first, ...rest] = args
  if (first === '--version' || first === '-v' || first === 'version') return { kind: 'version' }
  if (first === undefined || first === '--help' || first === '-h') return { kind: 'help', command: undefined }
  if (first === 'help') return rest[0] === undefined ? { kind: 'help', command: undefined } : helpOn(rest[0], rest[1])
  const command = findCommand(first)
  // Arguments after `--` are not parsed here.
  const ours = rest.includes('--') ? rest.slice(0, rest.indexOf('--')) : rest
  if (ours.includes('--help') || ours.includes('-h') || (command.subcommands && ours[0] === 'help')) {
    const named = command.subcommands?.find(({ name }) => ours.includes(name))
    return { kind: 'help', command, subcommand: named }
  }
  return { kind: 'run', ...parseInvocation(command, rest) }
}

function helpOn(name: string, subcommandName: string | undefined): Arguments {
  const command = findCommand(name)
  const subcommand = subcommandName === undefined ? undefined : findSubcommand(command, subcommandName)
  return { kind: 'help', command, subcommand }
}

function findCommand(name: string): Command {
  const command = commands.find((candidate) => candidate.name === name)
  if (command) return command
  const names = commands.map((candidate) => candidate.name)
  const near = nearNames(name, names)
  const what = name.startsWith('-') ? 'a command comes first' : `there is no command "${name}"`
  const hint = near.length > 0 ? `Did you mean ${near.join(' or ')}?` : `There is: ${names.join(', ')}.`
  throw new AppError('usage', `${what[0]!.toUpperCase()}${what.slice(1)}. ${hint} See flotilla --help.`)
}

function findSubcommand(command: Command, name: string | undefined): Subcommand | undefined {
  const { subcommands = [] } = command
  if (name === undefined || subcommands.length === 0) return subcommands[0]
  const found = subcommands.find((candidate) => candidate.name === name) ?? findMeant(subcommands, name)
  if (found) return found
  const names = subcommands.map((candidate) => candidate.name)
  const near = nearNames(name, names)
  const hint = near.length > 0 ? `; did you mean ${near.join(' or ')}?` : `; there is ${names.join(', ')}`
  throw mistake(command.name, `there is no "${name}"${hint}`)
}

/** Synonyms from other programs; if a command has one of them, the others mean it. */
const SAME = [
  ['list', 'ls'],
  ['show', 'get', 'describe'],
  ['create', 'add', 'new'],
  ['remove', 'rm', 'delete', 'revoke'],
]

function findMeant(subcommands: readonly Subcommand[], name: string): Subcommand | undefined {
  const same = SAME.find((words) => words.includes(name)) ?? []
  const meant = subcommands.filter((candidate) => same.includes(candidate.name))
  // An ambiguous synonym is refused: removing a model and removing its files are different words.
  return meant.length === 1 ? meant[0] : undefined
}

function parseInvocation(command: Command, args: string[]): Invocation {
  const every = declaredFlags(command, command.subcommands ?? [command])
  const { words, given, rest } = splitArguments(args, every)
  // Before the words are checked: the value of a misspelt flag would count as a word.
  refuseUnknown(command.name, given, every)
  const subcommand = findSubcommand(command, words[0])
  const where = subcommand && words.length > 0 ? `${command.name} ${subcommand.name}` : command.name
  const syntax: Syntax = subcommand ?? command
  refuseUnknown(where, given, declaredFlags(command, [syntax]))
  if (rest && syntax.rest === undefined) throw mistake(where, 'unexpected "--"')

  const values = subcommand ? words.slice(1) : words
  const invocation: Invocation = {
    command,
    subcommand,
    values,
    own: new Map(),
    lists: new Map(),
    rest,
    flags: new Map(),
    configFile: undefined,
  }
  for (const { flag, value } of given) {
    if (value === undefined || value === '') throw mistake(where, `${flag} needs a value`)
    const option = command.options.find((name) => flagOf(name) === flag)
    if (option) invocation.flags.set(option, { value, where: flag })
    else if (flag === '--config') invocation.configFile = value
    else takeOwn(invocation, syntax, flag.slice(2), value)
  }
  checkWords(where, syntax, values)
  checkOneOf(where, syntax, invocation.own)
  return invocation
}

function takeOwn({ own, lists }: Invocation, { flags }: Syntax, name: string, value: string): void {
  own.set(name, value)
  if (flags?.[name]?.many) lists.set(name, [...(lists.get(name) ?? []), value])
}

function declaredFlags(command: Command, syntaxes: readonly Syntax[]): DeclaredFlag[] {
  return [
    ...command.options.map((name) => ({ flag: flagOf(name), isAlone: isSwitch(name) })),
    ...syntaxes.flatMap(({ flags = {} }) =>
      Object.entries(flags).map(([name, { value, short }]) => ({
        flag: `--${name}`,
        short,
        isAlone: value === undefined,
      })),
    ),
    { flag: '--config', isAlone: false },
  ]
}

function isSwitch(name: OptionName): boolean {
  return (options[name] as Option<unknown>).switch === true
}

function refuseUnknown(where: string, given: readonly GivenFlag[], declared: readonly DeclaredFlag[]): void {
  const known = declared.map(({ flag }) => flag)
  const unknown = given.find(({ flag }) => !known.includes(flag))
  if (!unknown) return
  const near = nearNames(unknown.flag, known)
  const hint = near.length > 0 ? `; did you mean ${near.join(' or ')}?` : ''
  throw mistake(where, `there is no option ${unknown.flag}${hint}`)
}

function checkWords(where: string, { arguments: declared = [] }: Syntax, values: readonly string[]): void {
  const missing = declared.filter(({ optional }) => !optional)[values.length]
  if (missing) throw mistake(where, `which ${missing.name}?`)
  const surplus = declared.some(({ many }) => many) ? undefined : values[declared.length]
  if (surplus !== undefined) throw mistake(where, `unexpected "${surplus}"`)
}

function checkOneOf(where: string, { oneOf = [] }: Syntax, own: ReadonlyMap<string, string>): void {
  const given = oneOf.filter((flag) => own.has(flag)).map((flag) => `--${flag}`)
  if (oneOf.length === 0 || given.length === 1) return
  const flags = oneOf.map((flag) => `--${flag}`).join(' or ')
  throw mistake(where, given.length === 0 ? `${flags} is needed` : `give ${flags}, not both`)
}

function mistake(where: string, what: string): AppError {
  const ending = what.endsWith('?') ? '' : '.'
  return new AppError('usage', `flotilla ${where}: ${what}${ending} See flotilla ${where} --help.`)
}
