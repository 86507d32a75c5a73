import { parseArgs } from 'node:util'
import { nearNames } from '../src/core/lib/near-names.ts'
import { faultNumbersText, parseFaultNumbers } from './shrink/shrink-faults.ts'

/** What the command line asks for. */
export interface Arguments {
  seed: number | undefined
  seeds: number | undefined
  nodes: number
  models: number
  hours: number
  /** The quiet time begins after so many of them, in a run that was shrunk. */
  untilHours: number | undefined
  /** Kinds; all of them when undefined. */
  faults: string[] | undefined
  /** Numbers of the only faults that are injected, for a run that was shrunk. */
  onlyFaults: number[] | undefined
  bug: string | undefined
  /** Processes side by side; one for each core when undefined. */
  jobs: number | undefined
  soakMs: number | undefined
  keepsGoing: boolean
  shrinkS: number
  lines: number
  asJson: boolean
}

export type Parsed =
  | { kind: 'help' | 'faults' | 'bugs' }
  | { kind: 'planted'; arguments: Arguments }
  | { kind: 'run'; arguments: Arguments }
  | { kind: 'mistake'; message: string }

/** What there is to choose from, each name with a line of help. */
export interface Choices {
  faults: Record<string, string>
  bugs: Record<string, string>
}

export const DEFAULT_SEEDS = 20
export const defaultArguments: Arguments = {
  seed: undefined,
  seeds: undefined,
  nodes: 10,
  models: 6,
  hours: 0.5,
  untilHours: undefined,
  faults: undefined,
  onlyFaults: undefined,
  bug: undefined,
  jobs: undefined,
  soakMs: undefined,
  keepsGoing: false,
  shrinkS: 60,
  lines: 40,
  asJson: false,
}

const numbers = {
  seed: { name: 'seed', least: 0, most: 2 ** 31 - 1, isWhole: true },
  seeds: { name: 'seeds', least: 1, most: 1_000_000, isWhole: true },
  nodes: { name: 'nodes', least: 1, most: 500, isWhole: true },
  models: { name: 'models', least: 1, most: 200, isWhole: true },
  hours: { name: 'hours', least: 0.001, most: 720, isWhole: false },
  until: { name: 'untilHours', least: 0.001, most: 720, isWhole: false },
  jobs: { name: 'jobs', least: 1, most: 256, isWhole: true },
  'shrink-s': { name: 'shrinkS', least: 0, most: 86_400, isWhole: true },
  lines: { name: 'lines', least: 1, most: 10_000, isWhole: true },
} as const
const switches = ['help', 'json', 'no-shrink', 'keep-going', 'planted'] as const
const texts = ['faults', 'only-faults', 'bug', 'soak'] as const

type NumberFlag = keyof typeof numbers
type TextFlag = (typeof texts)[number]

/** A mistake is told in one line that says how to do it right. */
export function parseArguments(args: string[], choices: Choices): Parsed {
  const valued = [...Object.keys(numbers), ...texts].map((name) => [name, { type: 'string' }] as const)
  const options = Object.fromEntries([...valued, ...switches.map((name) => [name, { type: 'boolean' }] as const)])
  const { tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true })
  const parsed: Arguments = { ...defaultArguments }
  const given = new Set<string>()
  for (const token of tokens) {
    if (token.kind === 'positional') return mistake(`unexpected "${token.value}"`)
    if (token.kind !== 'option') continue
    const { name, rawName, value } = token
    const isSwitch = isOneOf(switches, name)
    if (!isSwitch && !isNumberFlag(name) && !isOneOf(texts, name)) return mistake(unknownOption(rawName, options))
    if (given.has(name)) return mistake(`${rawName} is given twice`)
    given.add(name)
    if (isSwitch && value !== undefined) return mistake(`${rawName} takes no value`)
    const problem = isNumberFlag(name)
      ? takeNumber(parsed, name, value)
      : !isSwitch
        ? takeText(parsed, name, value, choices)
        : undefined
    if (problem) return mistake(problem)
    if (value === 'list' && (name === 'faults' || name === 'bug')) return { kind: name === 'bug' ? 'bugs' : 'faults' }
  }
  if (given.has('help')) return { kind: 'help' }
  if (given.has('seeds') && given.has('soak')) return mistake('--soak runs until its time is over: leave out --seeds')
  if (given.has('no-shrink')) {
    if (given.has('shrink-s')) return mistake('--no-shrink leaves no use for --shrink-s')
    parsed.shrinkS = 0
  }
  parsed.asJson = given.has('json')
  parsed.keepsGoing = given.has('keep-going')
  return { kind: given.has('planted') ? 'planted' : 'run', arguments: parsed }
}

function takeNumber(parsed: Arguments, flag: NumberFlag, value: string | undefined): string | undefined {
  const { name, least, most, isWhole } = numbers[flag]
  const number = value?.trim() ? Number(value) : Number.NaN
  if (number >= least && number <= most && (!isWhole || Number.isInteger(number))) {
    parsed[name] = number
    return undefined
  }
  return `--${flag} takes a ${isWhole ? 'whole number' : 'number'} from ${least} to ${most}`
}

function takeText(
  parsed: Arguments,
  flag: TextFlag,
  value: string | undefined,
  { faults, bugs }: Choices,
): string | undefined {
  if (flag === 'soak') {
    parsed.soakMs = parseDuration(value)
    return parsed.soakMs === undefined ? '--soak takes a time such as 90s, 30m, 8h or 2d, or "forever"' : undefined
  }
  if (flag === 'only-faults') {
    parsed.onlyFaults = parseFaultNumbers(value ?? '')
    return parsed.onlyFaults ? undefined : '--only-faults takes numbers of faults such as 3,7-9, or "none"'
  }
  if (value === 'list') return undefined
  const known = flag === 'bug' ? bugs : faults
  const names = flag === 'bug' ? [value ?? ''] : (value ?? '').split(',')
  const wrong = names.find((name) => !Object.hasOwn(known, name))
  if (wrong !== undefined) return unknownName(flag, wrong, known)
  if (flag === 'bug') parsed.bug = names[0]!
  else parsed.faults = names
  return undefined
}

const units: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

function parseDuration(text: string | undefined): number | undefined {
  if (text === 'forever') return Infinity
  const [, amount, unit] = /^(\d{1,6}(?:\.\d{1,3})?)([smhd])$/.exec(text ?? '') ?? []
  const ms = Number(amount) * (units[unit ?? ''] ?? 0)
  return ms > 0 ? ms : undefined
}

function unknownName(flag: 'faults' | 'bug', name: string, known: Record<string, string>): string {
  const what = flag === 'bug' ? 'no planted bug' : 'no kind of fault'
  if (name === '')
    return `--${flag} takes ${flag === 'bug' ? 'a name' : 'names with commas between them'}; "--${flag} list" shows them`
  const near = nearNames(name, Object.keys(known))
  const instead = near.length > 0 ? ` Did you mean ${near.join(' or ')}?` : ''
  return `there is ${what} "${name}".${instead} "--${flag} list" shows them`
}

function unknownOption(rawName: string, options: object): string {
  const [near] = nearNames(rawName.replace(/^-+/, ''), Object.keys(options), 1)
  return `there is no option ${rawName}${near ? `. Did you mean --${near}?` : ''}`
}

function mistake(what: string): Parsed {
  return {
    kind: 'mistake',
    message: `npm run sim: ${what.replace(/\.$/, '')}${what.endsWith('?') ? '' : '.'} See npm run sim -- --help.`,
  }
}

/** As it has to be typed to get one run again. */
export function commandLine(given: Arguments, seed: number): string {
  const words = [`npm run sim -- --seed ${seed} --seeds 1`]
  for (const name of ['nodes', 'models', 'hours'] as const) {
    if (given[name] !== defaultArguments[name]) words.push(`--${name} ${given[name]}`)
  }
  if (given.untilHours !== undefined) words.push(`--until ${given.untilHours}`)
  if (given.faults) words.push(`--faults ${given.faults.join(',')}`)
  if (given.onlyFaults) words.push(`--only-faults ${faultNumbersText(given.onlyFaults)}`)
  if (given.bug) words.push(`--bug ${given.bug}`)
  return words.join(' ')
}

function isNumberFlag(name: string): name is NumberFlag {
  return Object.hasOwn(numbers, name)
}

function isOneOf<Name extends string>(names: readonly Name[], name: string): name is Name {
  return (names as readonly string[]).includes(name)
}
