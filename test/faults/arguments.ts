import { parseArgs } from 'node:util'
import type { Fault } from './fault.ts'

export interface Arguments {
  rounds: number
  only: string[]
  isLong: boolean
  isWritten: boolean
}

export type Parsed = { kind: 'help' } | { kind: 'mistake'; message: string } | { kind: 'run'; arguments: Arguments }

const MOST_ROUNDS = 1000
const flags = {
  rounds: { type: 'string' },
  only: { type: 'string', multiple: true },
  long: { type: 'boolean' },
  write: { type: 'boolean' },
  help: { type: 'boolean' },
} as const

export function parseArguments(args: readonly string[], faults: readonly Fault[]): Parsed {
  const { values, tokens } = parseArgs({
    args: [...args],
    options: flags,
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  if (values.help) return { kind: 'help' }
  const parsed: Arguments = { rounds: 1, only: [], isLong: values.long === true, isWritten: values.write === true }
  for (const token of tokens) {
    if (token.kind === 'positional') return mistake(`unexpected "${token.value}"`)
    if (token.kind !== 'option') continue
    const { name, rawName, value } = token
    if (!Object.hasOwn(flags, name)) return mistake(`there is no option ${rawName}`)
    if (name === 'rounds') {
      const rounds = Number(value)
      if (!value || !Number.isInteger(rounds) || rounds < 1 || rounds > MOST_ROUNDS) {
        return mistake(`--rounds takes a whole number from 1 to ${MOST_ROUNDS}`)
      }
      parsed.rounds = rounds
    } else if (name === 'only') {
      if (!value) return mistake('--only takes a part of the name of a fault')
      if (!faults.some((fault) => isMeant(fault, [value]))) return mistake(`no fault has "${value}" in its name`)
      parsed.only.push(value)
    } else if (value !== undefined) return mistake(`${rawName} takes no value`)
  }
  // A page that shows some of the faults only would read as if the others were none.
  if (parsed.isWritten && parsed.only.length > 0) return mistake('--write is for all faults, not for --only some')
  return { kind: 'run', arguments: parsed }
}

export function isMeant({ name }: Fault, only: readonly string[]): boolean {
  return only.length === 0 || only.some((part) => name.includes(part))
}

/** As it has to be typed to get the same again. */
export function commandLine({ rounds, only, isLong, isWritten }: Arguments): string {
  const words = ['npm run faults --', `--rounds ${rounds}`, ...only.map((part) => `--only '${part}'`)]
  if (isLong) words.push('--long')
  if (isWritten) words.push('--write')
  return words.join(' ')
}

export function helpText(faults: readonly Fault[]): string {
  return [
    'Usage: npm run faults -- [options]',
    '',
    'Starts a cluster of real processes on PostgreSQL and NATS, keeps it under load,',
    'and lets one thing after another go wrong. Every token of every answer is',
    'checked; after each fault everything must be as it was before.',
    '',
    '  --rounds <n>     how often each fault happens (default 1)',
    '  --only <text>    only faults with this in their name; may be given again',
    '  --long           outages of 60 s, longer partitions and freezes',
    '  --write          write the results to docs/reference/faults.md',
    '  --help           this text',
    '',
    'Faults:',
    ...faults.map(({ name }) => `  ${name}`),
    '',
  ].join('\n')
}

function mistake(what: string): Parsed {
  return { kind: 'mistake', message: `npm run faults: ${what}. See npm run faults -- --help.` }
}
