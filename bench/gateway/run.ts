import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgresServer, type TestServer } from '../../src/testing/postgres-server.ts'
import {
  cpuMs,
  endChildren,
  isInstalled,
  isPinned,
  leaveProxyCore,
  residentBytes,
  startFile,
  type Child,
} from './child.ts'
import type { Measured } from './messages.ts'
import { measurePicks } from './picks.ts'
import { NAMES, printCase, printGoals, type Case, type Name } from './report.ts'
import {
  canServe,
  directTo,
  startHaproxy,
  startNginx,
  startNodeProxy,
  startPortkey,
  startTwoHops,
  type Ground,
  type Side,
} from './sides.ts'
import { measureWithWrk } from './wrk.ts'

/**
 * What a gateway costs. The same client and the same 16 upstreams, with one proxy after another between them, in
 * interleaved rounds, so that whatever else the machine does falls on all. Each proxy has one core, always the same;
 * client, upstreams and PostgreSQL share the others. `direct` has no proxy: it is the most that client and upstreams can.
 *
 *   flotilla   the real handler on a table of 16 replicas; it reads the model from the body, picks, counts, forwards
 *   two hops   the same in front of a worker's data port, which sends on to the engines
 *   nginx      least_conn over the 16 upstreams; never looks at the body
 *   haproxy    the same with leastconn
 *   database   what Flotilla does, but where to is asked of PostgreSQL with LocalAI's dozen statements a request
 *   portkey    @portkey-ai/gateway, load balanced over the 16 upstreams; with `--with-portkey`, as it must be fetched
 *
 * The upstreams answer at once: behind a real engine, which takes a thousand times as long, all of this is little.
 */
const cases: Case[] = (['json', 'stream'] as const).flatMap((kind) =>
  [1, 32, 256].map((connections) => ({ kind, connections })),
)
const ROUNDS = 4
const ROUND_MS = 1000
/** Compilers need some ten thousand requests until they are done. */
const WARM_UP_MS = 4000
/** No round starts later than this: with more sides there are fewer rounds, never a longer run. */
const LAST_START_MS = 200_000
const HELD_STREAMS = 1000

const startMs = performance.now()
const folder = mkdtempSync(join(tmpdir(), 'flotilla-bench-'))
let postgres: TestServer | undefined
try {
  leaveProxyCore()
  postgres = await startPostgresServer()
  const upstream = await startFile('upstream-process.ts', [])
  const load = await startFile('load-process.ts', [])
  const { ports } = upstream.ready as { ports: number[] }
  const sides = await startSides({ ports, folder }, upstream, postgres.url)
  // Before any other load: what the first streams leave behind is used again.
  const memory = new Map<Name, number | undefined>()
  for (const [name, side] of sides.stream) memory.set(name, await memoryPerStream(load, side))

  const results = cases.map((of) => ({
    of,
    results: new Map([...sides[of.kind].keys()].map((name) => [name, [] as Measured[]])),
  }))
  let rounds = 0
  // One round more than is counted: the first warms up compilers and connections.
  for (; rounds <= ROUNDS && performance.now() - startMs < LAST_START_MS; rounds += 1) {
    for (const { of, results: bySide } of results) {
      if (rounds === 0 && of.connections !== 32) continue
      for (const [name, side] of rounds % 2 === 0 ? sides[of.kind] : [...sides[of.kind]].toReversed()) {
        const measured = await measureSide(load, side, of, rounds === 0 ? WARM_UP_MS : ROUND_MS)
        if (rounds > 0) bySide.get(name)!.push(measured)
      }
    }
  }
  for (const { of, results: bySide } of results) printCase(of, bySide)
  printMemory(memory)
  printPicks()
  printGoals(results)
  const seconds = ((performance.now() - startMs) / 1000).toFixed(0)
  const client = isInstalled('wrk') ? 'wrk' : 'our own, as wrk is not installed: fast proxies look slower than they are'
  const core = isPinned
    ? 'each proxy on one core, all else on the others'
    : 'NOT pinned to cores (no taskset, or one core)'
  console.log(`medians of ${rounds - 1} interleaved rounds; client: ${client}; ${core}; ${seconds} s in all`)
} finally {
  endChildren()
  await postgres?.stop()
  rmSync(folder, { recursive: true, force: true })
}

type Sides = Record<Case['kind'], Map<Name, Side>>

/** Those that can be had here, by what they can do; of the others it is said why not. */
async function startSides(ground: Ground, upstream: Child, databaseUrl: string): Promise<Sides> {
  const ports = ground.ports.map(String)
  const starts: Record<Name, () => Side | string | Promise<Side | string>> = {
    direct: () => directTo(ground, upstream),
    flotilla: () => startNodeProxy('flotilla-process.ts', ports),
    'two hops': () => startTwoHops(ports),
    nginx: () => startNginx(ground),
    haproxy: () => startHaproxy(ground),
    database: () => startNodeProxy('database-process.ts', [databaseUrl, ...ports]),
    portkey: () => startPortkey(ground, process.argv.includes('--with-portkey')),
  }
  const sides: Sides = { json: new Map(), stream: new Map() }
  for (const name of NAMES) {
    const side = await starts[name]()
    if (typeof side === 'string') console.log(`${name}: ${side}`)
    else
      for (const kind of ['json', 'stream'] as const) {
        if (await canServe(side, kind)) sides[kind].set(name, side)
        else console.log(`${name}: not measured with ${kind}: it answers with an error here`)
      }
  }
  return sides
}

async function measureSide(
  load: Child,
  { target, pid, otherPids = [] }: Side,
  of: Case,
  durationMs: number,
): Promise<Measured> {
  const pids = [pid, ...otherPids]
  const before = cpuMs(pids)
  const measured = await measure(load, { do: 'measure', target, ...of, durationMs })
  const after = cpuMs(pids)
  const requests = measured.perSecond * (durationMs / 1000)
  return before === undefined || after === undefined || requests === 0
    ? measured
    : { ...measured, cpuUs: ((after - before) * 1000) / requests }
}

function measure(load: Child, work: Parameters<typeof measureWithWrk>[1]): Promise<Measured> {
  return isInstalled('wrk') ? measureWithWrk(folder, work) : (load.ask(work) as Promise<Measured>)
}

/** The first thousand are there for what is loaded and grown once, however many follow. */
async function memoryPerStream(load: Child, { target, pid, settle }: Side): Promise<number | undefined> {
  const rssBytes: (number | undefined)[] = []
  for (let i = 0; i < 2; i += 1) {
    await load.ask({ do: 'hold', target, streams: HELD_STREAMS })
    await settle?.()
    rssBytes.push(residentBytes(pid))
  }
  await load.ask({ do: 'release' })
  const [before, after] = rssBytes
  return before === undefined || after === undefined ? undefined : (after - before) / HELD_STREAMS
}

function printMemory(memory: ReadonlyMap<Name, number | undefined>): void {
  const shown = [...memory].map(([name, bytes]) => `${name} ${bytes === undefined ? '?' : (bytes / 1024).toFixed(1)}`)
  console.log(`\nmemory of each of ${HELD_STREAMS} held streams, KiB: ${shown.join(', ')} (direct: of the upstream)`)
}

function printPicks(): void {
  for (const { replicas, structureNs, scanNs } of measurePicks()) {
    const ratio = (scanNs / structureNs).toFixed(1)
    const scan = `by a scan ${scanNs.toFixed(0)} ns, ${ratio} × as long`
    console.log(`a pick and its release among ${replicas} replicas: ${structureNs.toFixed(0)} ns; ${scan}`)
  }
}
