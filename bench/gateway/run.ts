import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgresServer, type TestServer } from '../../test/support/postgres/postgres-server.ts'
import { measureSharing } from '../scale/gateway.ts'
import { startSides } from './all-sides.ts'
import { cpuMs, endChildren, isInstalled, isPinned, leaveProxyCore, startFile } from './processes/child.ts'
import { measureDelays } from './delays.ts'
import { tablesOf, type Figures } from './figures.ts'
import { goalsOf } from './goals.ts'
import { churn, growth, memoryPerStream } from './memory.ts'
import type { Measured } from './messages.ts'
import { readOptions } from './options.ts'
import { writePage } from './page.ts'
import { measurePicks } from './picks.ts'
import { measureProcesses } from './processes/processes.ts'
import { tableOf } from './table.ts'
import { measureCases, type Measure } from './throughput.ts'
import { measureWithWrk } from './wrk.ts'

/**
 * What a gateway costs. The same client and the same 16 upstreams, with one proxy after another between them, in
 * interleaved rounds, so that whatever else the machine does falls on all. Each proxy has one core, always the same;
 * client, upstreams and PostgreSQL share the others. `direct` has no proxy: it is the most that client and upstreams can.
 * What the others are is said in docs/reference/performance.md, which `--write` makes; the options are in options.ts.
 */
const LAST_ROUND_MS = 600_000
const DELAY_ROUNDS = 5

const options = readOptions(process.argv.slice(2))
const folder = mkdtempSync(join(tmpdir(), 'flotilla-bench-'))
const isWrk = isInstalled('wrk')
const loadBefore = loadavg()[0]!
let servers: TestServer[] = []
try {
  leaveProxyCore()
  // As anybody runs it: what is written for a request is on the disk.
  servers = [await startPostgresServer({ isDurable: true }), await startPostgresServer({ isDurable: true })]
  const upstream = await startFile('upstream-process.ts', [])
  const load = await startFile('load-process.ts', [])
  const { ports } = upstream.ready as { ports: number[] }
  const measure: Measure = async ({ target, pid, otherPids = [] }, of, durationMs) => {
    const pids = [pid, ...otherPids]
    const before = cpuMs(pids)
    const work = { do: 'measure', target, ...of, durationMs } as const
    const measured = isWrk ? await measureWithWrk(folder, work) : ((await load.ask(work)) as Measured)
    const after = cpuMs(pids)
    const requests = (measured.perSecond * durationMs) / 1000
    const isKnown = before !== undefined && after !== undefined && requests > 0
    return isKnown ? { ...measured, cpuUs: ((after - before) * 1000) / requests } : measured
  }
  const sides = await startSides({ ports, folder }, upstream, [servers[0]!.url, servers[1]!.url], options)
  const flotilla = sides.json.get('flotilla')!
  // Before any other load: what the first streams leave behind is used again.
  const memory = await memoryPerStream(load, sides, options.streams)
  const cases = await measureCases(sides, measure, options.rounds, LAST_ROUND_MS)
  const delays = await measureDelays(load, sides, DELAY_ROUNDS)
  // Only wrk can be told how many cores it may use.
  const processes = isWrk && isPinned ? await measureProcesses(folder, 4 * options.rounds) : { one: [], two: [] }
  const figures: Figures = {
    cases,
    delays,
    memory,
    processes,
    picks: measurePicks(),
    sharing: await sharingOfACore(),
    churn: options.churnS > 0 ? await churn(load, flotilla, options.streams, options.churnS) : undefined,
    growth: options.requests > 0 ? await growth(measure, flotilla, options.requests) : undefined,
  }
  tell(figures)
  const seconds = performance.now() / 1000
  const rounds = Math.min(...cases.map(({ results }) => results.get('flotilla')!.length))
  const command = `npm run bench -- gateway ${process.argv.slice(2).join(' ')}`.trim()
  console.log(
    `medians of ${rounds} interleaved rounds; client: ${isWrk ? 'wrk' : 'our own'}; ${isPinned ? '' : 'NOT '}pinned to cores; ${seconds.toFixed(0)} s in all`,
  )
  if (options.jsonFile !== undefined) writeFileSync(options.jsonFile, `${JSON.stringify(figures, mapsToo, 2)}\n`)
  if (options.isWritten) writePage(figures, { command, rounds, isPinned, seconds, isWrk, loadBefore })
} finally {
  endChildren()
  for (const server of servers) await server.stop()
  rmSync(folder, { recursive: true, force: true })
}

/** The least of several runs, as the first ones compile. */
async function sharingOfACore(): Promise<number> {
  const table = tableOf(Array.from({ length: 1000 }, (_, i) => `10.0.${i >> 8}.${i & 255}:9090`))
  const perSecondMs: number[] = []
  for (let i = 0; i < 4; i += 1) perSecondMs.push((await measureSharing(10, 100, table)).perSecondMs)
  return Math.min(...perSecondMs) / 1000
}

function tell(figures: Figures): void {
  for (const { title, head, rows } of tablesOf(figures)) {
    console.log(`\n${title}`)
    for (const [name, ...cells] of [head, ...rows]) {
      console.log(`  ${name!.padEnd(26)}${cells.map((cell) => cell.padStart(18)).join('')}`)
    }
  }
  console.log('\ngoals')
  for (const { goal, found, isMet } of goalsOf(figures)) {
    console.log(`  ${isMet === undefined ? 'not measured' : isMet ? 'met' : 'NOT met'}: ${goal}: ${found}`)
  }
}

function mapsToo(_: string, value: unknown): unknown {
  return value instanceof Map ? Object.fromEntries(value) : value
}
