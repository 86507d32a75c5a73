import { commandLine, type Arguments } from './arguments.ts'
import { noCounts, type Counts } from './ground.ts'
import { QUIET_MS } from './scale.ts'
import type { Outcome } from './simulate.ts'

const COLUMNS = 78

/** What a person reads at the end. No wall-clock time in it: the same seed gives the same bytes. */
export function report(asked: Arguments, outcomes: readonly Outcome[]): string {
  const total = sum(outcomes)
  const violated = outcomes.find(({ violation }) => violation !== undefined)
  const lines = [
    `Flotilla simulator: ${seedsOf(outcomes)}, ${asked.nodes} nodes, ${asked.models} models,`,
    `${asked.minutes} min with faults and ${QUIET_MS / 60_000} min without, each`,
    '',
    row('virtual time', hours(total.virtualMs), 'events', count(total.events)),
    row('turns', count(total.turns), 'heartbeats', count(total.heartbeats)),
    row('starts', count(total.starts), 'failed starts', count(total.failedStarts)),
    row('evictions', count(total.evictions), 'out of memory', count(total.outOfMemory)),
    row('engine crashes', count(total.crashes), 'worker deaths', count(total.workerDeaths)),
    row('node deaths', count(total.nodeDeaths), 'nodes cut off', count(total.partitions)),
    row('admin changes', count(total.changes), 'changes of leader', count(total.leaders)),
    '',
    `  Of ${count(total.accepted)} requests: ${count(total.served)} served, ${count(total.refused)} refused, ${count(total.left)} left,`,
    `  ${count(total.brokenOff)} broken off, ${count(total.lost)} lost. ${count(total.retried)} tries were repeated.`,
    `  ${count(total.waited)} waited for their model to be loaded.`,
    '',
    ...(violated ? violationLines(asked, violated) : ['All checks held.']),
  ]
  return `${lines.join('\n')}\n`
}

function violationLines(asked: Arguments, { seed, events, violation }: Outcome): string[] {
  const { check, message, event, lastLines } = violation!
  return [
    `VIOLATED: ${check}`,
    ...wrap(message),
    '',
    `Seed ${seed}, event ${event ?? events}. The last that happened:`,
    ...lastLines.map((line) => `  ${line}`.slice(0, COLUMNS)),
    '',
    'Repeat it with:',
    `  ${commandLine({ ...asked, seed, runs: 1 })}`,
  ]
}

function sum(outcomes: readonly Outcome[]): Counts & { events: number; virtualMs: number; lost: number } {
  const total = { ...noCounts(), events: 0, virtualMs: 0, lost: 0 }
  for (const { counts, events, virtualMs, lost } of outcomes) {
    for (const name of Object.keys(counts) as (keyof Counts)[]) total[name] += counts[name]
    total.events += events
    total.virtualMs += virtualMs
    total.lost += lost
  }
  return total
}

function seedsOf(outcomes: readonly Outcome[]): string {
  const [first, last] = [outcomes[0]!.seed, outcomes.at(-1)!.seed]
  return first === last ? `seed ${first}` : `seeds ${first} to ${last}`
}

function row(left: string, leftValue: string, right: string, rightValue: string): string {
  return `  ${left.padEnd(16)}${leftValue.padStart(12)}    ${right.padEnd(18)}${rightValue.padStart(12)}`
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}

function hours(ms: number): string {
  const minutes = Math.floor(ms / 60_000)
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

function wrap(text: string): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= COLUMNS) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(`  ${word}`)
  }
  return lines
}
