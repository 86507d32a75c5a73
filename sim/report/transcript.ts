import { wrapWords } from '../arguments-help.ts'
import type { Violation } from '../simulate.ts'
import { clockText, isFault } from './trace.ts'
import { nameIds } from './transcript-names.ts'

const COLUMNS = 78
/** In every line of a trace: the time, then the name of who did it, then what. */
const TIME_COLUMNS = '00:00:00.000 '.length
const TEXT_COLUMN = '00:00:00.000 fault '.length

/**
 * What led to a violation, for somebody who does not know the simulator: every fault, the last that was said of those
 * whom the message names (marked with >), and the very last lines. What is left out is counted.
 */
export function transcript(all: readonly string[], { message, atMs }: Violation, most: number): string[] {
  const named = nameIds(all)
  // The counts at the end are in the report.
  const lines = withoutRepeats(all.filter((line) => !line.startsWith('end ', TIME_COLUMNS)).map(named))
  const names = namesIn(named(message))
  const chosen = choose(lines, names, most)
  const shown: string[] = []
  let next = 0
  for (const index of chosen) {
    if (index > next) shown.push(leftOut(index - next))
    shown.push(...fit(lines[index]!, mentions(lines[index]!, names)))
    next = index + 1
  }
  // The simulator itself may have failed, at a time that nobody knows.
  const end = atMs > 0 ? `  ${clockText(atMs)} here the check fails:` : '  here it fails:'
  const told = named(message)
    .split('\n')
    .flatMap((line) => wrapWords(line.trim(), COLUMNS - 2 - TEXT_COLUMN))
  return [...shown, end, ...told.map((line) => `  ${' '.repeat(TEXT_COLUMN)}${line}`)]
}

/** What the names in a transcript mean. */
export const WHO_IS_WHO = [
  'n1, n2 … machines with a worker each; f1, f2 frontends, one of them leads;',
  'g1, g2 gateways; r1, r2 … replicas; m1, m2 … models; user: an operator.',
]

/** The same said again and again by the same one is said once, with how often. */
function withoutRepeats(lines: readonly string[]): string[] {
  const kept: { line: string; more: number }[] = []
  for (const line of lines) {
    const last = kept.at(-1)
    if (last && last.line.slice(TIME_COLUMNS) === line.slice(TIME_COLUMNS)) last.more += 1
    else kept.push({ line, more: 0 })
  }
  return kept.map(({ line, more }) => (more === 0 ? line : `${line} (and ${more} times more)`))
}

function choose(lines: readonly string[], names: ReadonlySet<string>, most: number): number[] {
  const all = lines.map((_, index) => index)
  // Of so many faults that not all fit, the last ones.
  const faults = all.filter((index) => isFault(lines[index]!)).slice(-most)
  const named = all.filter((index) => mentions(lines[index]!, names)).slice(-Math.ceil(most / 2))
  const last = all.slice(-Math.ceil(most / 2))
  return [...new Set([...faults, ...named, ...last])].toSorted((a, b) => a - b)
}

/** Short names such as n3, r12, m2#0: what the message is about. */
function namesIn(message: string): Set<string> {
  return new Set(message.match(/\b[a-z]\d+\b/g))
}

function mentions(line: string, names: ReadonlySet<string>): boolean {
  return line.match(/\b[a-z]\d+\b/g)?.some((name) => names.has(name)) ?? false
}

function leftOut(count: number): string {
  return `  ${' '.repeat(TEXT_COLUMN)}(${count.toLocaleString('en-US')} ${count === 1 ? 'line' : 'lines'} left out)`
}

/** Longer ones go on below the text. */
function fit(line: string, isNamed: boolean): string[] {
  const [head, text] = [line.slice(0, TEXT_COLUMN), line.slice(TEXT_COLUMN)]
  const [first = '', ...rest] = wrapWords(text, COLUMNS - 2 - TEXT_COLUMN)
  return [`${isNamed ? '>' : ' '} ${head}${first}`, ...rest.map((more) => `  ${' '.repeat(TEXT_COLUMN)}${more}`)]
}
