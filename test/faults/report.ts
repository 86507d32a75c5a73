import { MEMBERS } from './members.ts'
import type { Fault } from './fault.ts'
import { kinds, type Kind } from './harness/ask.ts'
import type { Outcome } from './run-faults.ts'

/** All rounds of one fault. */
export interface Row {
  fault: Fault
  heldMs: number
  rounds: number
  requests: number
  ended: Record<Kind, number>
  /** Of each round, from the quickest; undefined for those that never got there. */
  convergedMs: (number | undefined)[]
  problems: string[]
  leftOut: string | undefined
}

export function rowsOf(outcomes: readonly Outcome[]): Row[] {
  const byFault = Map.groupBy(outcomes, ({ fault }) => fault)
  return [...byFault].map(([fault, rounds]) => ({
    fault,
    heldMs: rounds[0]!.heldMs,
    rounds: rounds.length,
    requests: sum(rounds.map(({ requests }) => requests)),
    ended: Object.fromEntries(
      kinds.map((kind) => [kind, sum(rounds.map(({ ended }) => ended[kind] ?? 0))]),
    ) as Row['ended'],
    convergedMs: rounds.map(({ convergedMs }) => convergedMs).toSorted((a, b) => (a ?? Infinity) - (b ?? Infinity)),
    problems: rounds.flatMap(({ problems }) => problems),
    leftOut: rounds.find(({ leftOut }) => leftOut !== undefined)?.leftOut,
  }))
}

const NAME_WIDTH = 36
const TITLES = ['ASKED', 'REFUSED', 'TOLD', 'LOST', 'WRONG', 'CONVERGED']

/** For a terminal of 80 columns. */
export function titleLine(): string {
  return `${'FAULT'.padEnd(NAME_WIDTH)}${TITLES.map((title) => title.padStart(title.length + 1)).join('')}`
}

export function rowLine(row: Row): string {
  const { fault, requests, ended, leftOut } = row
  const name = fault.name.padEnd(NAME_WIDTH)
  if (leftOut !== undefined) return `${name} left out: ${leftOut}`
  const cells = [requests, ended.refused, ended.told, ended.lost, worst(ended), timeOf(row.convergedMs.at(-1))]
  return `${name}${cells.map((cell, i) => String(cell).padStart(TITLES[i]!.length + 1)).join('')}`
}

export interface Circumstances {
  command: string
  date: string
  machine: string
  versions: string
  /** Others on the same machine, by its load average when the run began and when it ended. */
  load: string
}

/** The page of the results. */
export function page(rows: readonly Row[], { command, date, machine, versions, load }: Circumstances): string {
  const groups = Map.groupBy(rows, ({ fault }) => fault.group)
  const lines = [...groups].flatMap(([group, own]) =>
    own.map((row, index) => `| ${index === 0 ? group : ''} | ${cellsOf(row).join(' | ')} |`),
  )
  const times = rows.flatMap(({ convergedMs }) => convergedMs)
  const total = (kind: Kind): number => sum(rows.map(({ ended }) => ended[kind]))
  const bad = rows.filter(({ problems }) => problems.length > 0)
  return `# What happens when things break

This page is written by \`${command}\`. Do not edit it.

Two frontends, two gateways and four workers, each a process with a loopback address of its own, on PostgreSQL and a NATS server
with accounts; six replicas of two simulated models. Every connection between two of them goes through a relay that can hold it
in one direction or in both. Eight clients ask without a pause over both gateways, streamed and not, and check each answer token
by token. A fault lasts for the time in the second column, is then mended, and all must be as it was.

- ${date}, ${machine}
- ${versions}
- ${load}

| | fault | for | requests | refused | told | lost | wrong, cut, hung | converged: median, worst |
|---|---|---:|---:|---:|---:|---:|---:|---:|
${lines.join('\n')}

${sum(rows.map(({ requests }) => requests))} requests in ${sum(rows.map(({ rounds }) => rounds))} faults: ${total('refused')} refused, ${total('told')} told, ${total('lost')} lost, ${sum(rows.map(({ ended }) => worst(ended)))} wrong, cut or hung.
The slowest took ${timeOf(times.includes(undefined) ? undefined : Math.max(...(times as number[])))} to converge after it was mended.
${bad.length === 0 ? 'Nothing was left behind: no process, port, claim, lease, demand or request in flight.' : `Not as it must be:\n\n${bad.flatMap(({ fault, problems }) => problems.map((problem) => `- ${fault.name}: ${problem}`)).join('\n')}`}

## What the words mean

- **refused**: an error with a reason before the first byte. There may be none.
- **told**: an error with a reason in a stream that had begun. Only on a worker or engine that was itself struck, or cut off from
  the gateway: what an engine has begun cannot go on in another.
- **lost**: the connection broke. Only of a gateway that was killed; its clients go to the other one.
- **wrong, cut, hung**: a token that is not the next one; an end that looks whole and is not; no end at all.
- **converged**: from when the fault was mended (a process that was killed: started again) until every process is ready, one
  frontend leads, all nodes are healthy, as many replicas as asked for are ready, each of them has answered through each gateway,
  and \`flotilla status\` finds nothing wrong. For faults of control, store, bus and clocks they are the very same replicas.
- **→, ←**: only that direction is cut.

${MEMBERS}`
}

function cellsOf(row: Row): string[] {
  const { fault, heldMs, requests, ended, convergedMs, leftOut } = row
  const name = fault.name.replaceAll('|', String.raw`\|`)
  if (leftOut !== undefined) return [name, '', `left out: ${leftOut}`, '', '', '', '', '']
  const held = heldMs === 0 ? '' : `${heldMs / 1000} s`
  const median = convergedMs[Math.floor((convergedMs.length - 1) / 2)]
  const counts = [requests, ended.refused, ended.told, ended.lost, worst(ended)].map(String)
  return [name, held, ...counts, `${timeOf(median)}, ${timeOf(convergedMs.at(-1))}`]
}

function worst({ wrong, cut, hung }: Row['ended']): number {
  return wrong + cut + hung
}

function timeOf(ms: number | undefined): string {
  return ms === undefined ? 'never' : `${(ms / 1000).toFixed(1)} s`
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
