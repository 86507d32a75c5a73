import { parseArgs } from 'node:util'
import { breakages, type Breakage } from './parts.ts'
import { defaultScale, type Scale } from './scale.ts'

export interface Arguments extends Scale {
  seed: number
  runs: number
  leaveDrained: boolean
  broken: Breakage[]
}

export type Parsed = { kind: 'help' } | { kind: 'run'; arguments: Arguments } | { kind: 'mistake'; message: string }

const numbers = {
  seed: { least: 0, most: 2 ** 31 - 1, help: 'the first seed' },
  runs: { least: 1, most: 100_000, help: 'how many seeds, one after the other' },
  nodes: { least: 1, most: 200, help: 'machines of the cluster' },
  models: { least: 1, most: 100, help: 'models, about half of them with a rule' },
  minutes: { least: 1, most: 1440, help: 'virtual time with faults; 10 quiet ones follow' },
} as const
type NumberName = keyof typeof numbers

export const defaultArguments: Arguments = { seed: 1, runs: 20, ...defaultScale, leaveDrained: false, broken: [] }

const flags = {
  help: { type: 'boolean' },
  'leave-drained': { type: 'boolean' },
  break: { type: 'string', multiple: true },
  ...(Object.fromEntries(Object.keys(numbers).map((name) => [name, { type: 'string' }])) as Record<
    NumberName,
    { type: 'string' }
  >),
} as const

export function parseArguments(args: string[]): Parsed {
  const { values, tokens } = parseArgs({
    args,
    options: flags,
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  if (values.help) return { kind: 'help' }
  const parsed: Arguments = { ...defaultArguments, leaveDrained: values['leave-drained'] === true, broken: [] }
  for (const token of tokens) {
    if (token.kind === 'positional') return mistake(`unexpected "${token.value}"`)
    if (token.kind !== 'option') continue
    if (!(token.name in flags)) return mistake(`there is no option ${token.rawName}`)
    if (isNumberName(token.name)) {
      const { least, most } = numbers[token.name]
      const value = Number(token.value)
      if (!token.value || !Number.isInteger(value) || value < least || value > most) {
        return mistake(`${token.rawName} takes a whole number from ${least} to ${most}`)
      }
      parsed[token.name] = value
    } else if (token.name === 'break') {
      const { value } = token
      if (!value || !isBreakage(value)) return mistake('--break takes one of the names that --help lists')
      parsed.broken.push(value)
    } else if (token.value !== undefined) return mistake(`${token.rawName} takes no value`)
  }
  return { kind: 'run', arguments: parsed }
}

export function helpText(): string {
  const lines = Object.entries(numbers).map(([name, { help }]) =>
    option(`--${name} <n>`, `${help} (default ${defaultArguments[name as NumberName]})`),
  )
  return [
    'Usage: npm run sim -- [options]',
    '',
    'Runs whole clusters in virtual time on the real decision functions, breaks',
    'them in every way it can, and checks after every event that the promises of',
    'the design hold. The same options give the same output, byte by byte.',
    '',
    ...lines,
    option('--leave-drained', 'end with nodes still drained'),
    option('--break <name>', 'build a mistake in, to see it caught; one of'),
    ...Object.entries(breakages).flatMap(([name, what]) => [`      '${name}'`, `          ${what}`]),
    option('--help', 'this text'),
    '',
  ].join('\n')
}

/** As it has to be typed to get the same again. */
export function commandLine({ broken, leaveDrained, ...given }: Arguments): string {
  const words = ['npm run sim --']
  for (const name of Object.keys(numbers) as NumberName[]) {
    const isNamed = name === 'seed' || name === 'runs' || given[name] !== defaultArguments[name]
    if (isNamed) words.push(`--${name} ${given[name]}`)
  }
  if (leaveDrained) words.push('--leave-drained')
  for (const name of broken) words.push(`--break '${name}'`)
  return words.join(' ')
}

function option(name: string, help: string): string {
  return `  ${name.padEnd(16)} ${help}`
}

function mistake(what: string): Parsed {
  return { kind: 'mistake', message: `npm run sim: ${what}. See npm run sim -- --help.` }
}

function isNumberName(name: string): name is NumberName {
  return name in numbers
}

function isBreakage(name: string): name is Breakage {
  return Object.hasOwn(breakages, name)
}
