import { commandLine, type Arguments } from '../arguments.ts'
import { wrapWords } from '../arguments-help.ts'
import type { Explained } from '../shrink/shrink-failure.ts'
import type { Outcome } from '../simulate.ts'
import { spanText } from '../soak/soak-progress.ts'
import type { Tally } from '../soak/soak-tally.ts'
import { clockText } from './trace.ts'
import { transcript, WHO_IS_WHO } from './transcript.ts'

const COLUMNS = 78
/** Seeds that failed besides the one that is explained, when it was told to go on. */
const MOST_OTHERS = 20

export interface Reported {
  asked: Arguments
  tally: Tally
  commit: string
  wallMs: number
  jobs: number
  /** True when somebody called it off. */
  isCutShort: boolean
  explained?: Explained | undefined
}

/** What a person reads at the end. All but its last line is the same for the same seeds. */
export function report(reported: Reported): string {
  const { asked, tally, commit, isCutShort } = reported
  if (tally.seeds === 0) return 'Flotilla simulator: called off before any seed was through.\n'
  const lines = [
    `Flotilla simulator: ${seedsText(tally)}, ${many(asked.nodes, 'node')}, ${many(asked.models, 'model')},`,
    `${asked.hours} h with faults and a quiet time after them, each`,
    commit,
    ...(asked.bug ? [`with a planted bug: ${asked.bug}`] : []),
    ...(isCutShort ? ['Called off: this is what there is so far.'] : []),
    '',
    ...table(tally),
    '',
    ...(tally.failed > 0 ? failureLines(reported, tally.failures[0]!) : ['All checks held.']),
    '',
    timeText(reported),
  ]
  return `${lines.join('\n')}\n`
}

function seedsText(tally: Tally): string {
  const [first, last] = tally.range()
  if (first === last) return `seed ${first}`
  const gaps = last - first + 1 === tally.seeds ? '' : ` (${count(tally.seeds)} of them)`
  return `seeds ${first} to ${last}${gaps}`
}

function table(tally: Tally): string[] {
  const cells: [string, string][] = [
    ['virtual time', virtualText(tally.virtualMs)],
    ['events', count(tally.events)],
    ['faults', count(tally.faults)],
    ['history', tally.history()],
    ...Object.entries(tally.counts).map(([name, value]): [string, string] => [words(name), count(value)]),
  ]
  const rows: string[] = []
  for (let index = 0; index < cells.length; index += 2) {
    const row = cells.slice(index, index + 2).map(([name, value]) => `${name.padEnd(17)}${value.padStart(16)}`)
    rows.push(`  ${row.join('    ')}`)
  }
  return rows
}

function failureLines({ asked, tally, commit, explained }: Reported, first: Outcome): string[] {
  const { check, message, event, atMs } = first.violation!
  const others = tally.failures.slice(1, MOST_OTHERS + 1)
  return [
    `VIOLATED: ${check}`,
    ...wrap(message),
    '',
    `  in seed ${first.seed}, event ${count(event)}, ${clockText(atMs)} after the start`,
    `  of ${commit}`,
    ...(others.length > 0 ? [`  ${count(tally.failed)} of ${count(tally.seeds)} seeds failed; the others:`] : []),
    ...others.map(({ seed, violation }) => `    seed ${seed}: ${violation!.check}`),
    ...(tally.failed - 1 > others.length ? [`    and ${count(tally.failed - 1 - others.length)} more`] : []),
    '',
    ...(explained ? explainedLines(asked, first, explained) : []),
    'Repeat the whole run with:',
    ...command(commandLine(asked, first.seed)),
  ]
}

function explainedLines(asked: Arguments, first: Outcome, explained: Explained): string[] {
  const { scenario, outcome, faults, lines, runs, isDone } = explained
  const { nodes, models, hours, untilHours } = scenario
  const isShorter = outcome !== first
  const short: Arguments = { ...asked, nodes, models, untilHours, onlyFaults: faults }
  const size = [
    `${faults.length} of ${first.faultsInjected} faults`,
    `${nodes} of ${asked.nodes} nodes`,
    `${models} of ${asked.models} models`,
    `${untilHours ?? hours} of ${hours} h`,
  ].join(', ')
  const tried = `${runs} ${runs === 1 ? 'try' : 'tries'}${isDone ? '' : ', then time was over'}`
  return [
    ...(isShorter
      ? ['The shortest run found that violates the same check:', ...wrap(`${size} (${tried})`), '']
      : ['No shorter run was found that violates the same check:', `  ${tried}`, '']),
    'What happened:',
    ...WHO_IS_WHO.map((line) => `  ${line}`),
    '  > marks lines about those whom the message names.',
    '',
    ...transcript(lines, outcome.violation!, asked.lines),
    '',
    ...(isShorter ? ['Repeat the shortest run with:', ...command(commandLine(short, scenario.seed)), ''] : []),
  ]
}

function timeText({ tally, wallMs, jobs }: Reported): string {
  const each = (tally.cpuMs / tally.seeds / 1000).toFixed(1)
  const cpu = `${spanText(tally.cpuMs)} of CPU time, ${each} s a seed, ${(tally.longestCpuMs / 1000).toFixed(1)} s at most`
  return `Took ${spanText(wallMs)} with ${jobs} side by side: ${cpu}.`
}

/** `outOfMemory` as people write it. */
function words(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replaceAll('-', ' ')
}

function many(value: number, noun: string): string {
  return `${value} ${noun}${value === 1 ? '' : 's'}`
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}

function virtualText(ms: number): string {
  const hours = Math.floor(ms / 3_600_000)
  return hours >= 100 ? `${count(hours)} h` : `${hours} h ${Math.floor(ms / 60_000) % 60} min`
}

function wrap(text: string): string[] {
  return text.split('\n').flatMap((line) => wrapWords(line.trim(), COLUMNS - 2).map((part) => `  ${part}`))
}

/** A long one is continued as a shell reads it, between options. */
function command(line: string): string[] {
  const lines: string[] = []
  for (const part of line.split(/ (?=--\w)/)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + part.length <= COLUMNS - 6) lines[lines.length - 1] = `${last} ${part}`
    else lines.push(part)
  }
  return lines.map((part, index) => `${index === 0 ? '  ' : '    '}${part}${index < lines.length - 1 ? ' \\' : ''}`)
}
