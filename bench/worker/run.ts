import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { replicaPath } from '../../src/api/data-port.ts'
import { EVENT, EVENTS_PER_STREAM, type Done, type Memory, type Ready, type Target, type Work } from './messages.ts'

/**
 * What the data port costs: the same engine and the same client, with the data port between them and without, turn by
 * turn in one run, so that whatever else the machine does falls on both. Client, data port and engine are processes of
 * their own and share the machine's cores. The engine does nothing but answer: a real one takes a thousand times as
 * long, and the ratio is then that of a thousand and some to a thousand.
 */
const ROUNDS = 5
const ROUND_MS = 800
const IDLE_STREAMS = 1000
/** No round starts later than this: a slow machine gets fewer rounds, never a longer run. */
const LAST_START_MS = 35_000
/** The first as `npm start` has it, the second so that memory can be measured without garbage. */
const execArgv = ['--max-semi-space-size=1', '--expose-gc']

type Case = { name: string; kind: 'requests' | 'streams'; connections: number }
const cases: Case[] = [
  { name: 'small answers, 1 connection', kind: 'requests', connections: 1 },
  { name: 'small answers, 32 connections', kind: 'requests', connections: 32 },
  { name: 'event streams, 1 connection', kind: 'streams', connections: 1 },
  { name: 'event streams, 32 connections', kind: 'streams', connections: 32 },
]
type Side = 'through' | 'direct'

const children: ChildProcess[] = []
const startMs = performance.now()
try {
  const engine = await start('engine-process.ts')
  const dataPort = await start('data-port-process.ts', String(engine.port))
  const load = await start('load-process.ts')
  const targets: Record<Side, Target> = {
    through: { port: dataPort.port, prefix: replicaPath('bench', 1) },
    direct: { port: engine.port, prefix: '' },
  }
  // Memory first, and of each process before it has had any streams: what those leave behind is used again.
  const direct = await memoryPerStream(load, engine, targets.direct)
  const through = await memoryPerStream(load, dataPort, targets.through)
  const results = cases.map(() => ({ through: [] as Done[], direct: [] as Done[] }))
  let rounds = 0
  // One round more than is counted: the first warms up compilers and caches.
  for (; rounds <= ROUNDS && performance.now() - startMs < LAST_START_MS; rounds += 1) {
    for (const [i, { kind, connections }] of cases.entries()) {
      for (const side of rounds % 2 === 0 ? (['through', 'direct'] as const) : (['direct', 'through'] as const)) {
        const work: Work = { kind, target: targets[side], connections, durationMs: ROUND_MS }
        const done = (await load.ask(work)) as Done
        if (rounds > 0) results[i]![side].push(done)
      }
    }
  }
  report(results, { through, direct }, rounds - 1)
} finally {
  for (const child of children) if (child.connected) child.disconnect()
}

/** Of the process that holds the near end of the streams. */
async function memoryPerStream(load: Child, holder: Child, target: Target): Promise<number> {
  // What the first streams load, compile and grow is there once, however many follow: 9 MB.
  await load.ask({ kind: 'hold', target, streams: IDLE_STREAMS })
  const before = (await holder.ask({})) as Memory
  await load.ask({ kind: 'hold', target, streams: IDLE_STREAMS })
  const after = (await holder.ask({})) as Memory
  await load.ask({ kind: 'release' })
  return (after.rssBytes - before.rssBytes) / IDLE_STREAMS
}

interface Child {
  port: number
  /** Sends a message and waits for the answer; rejects when the process ends instead. */
  ask: (message: object) => Promise<unknown>
}

async function start(file: string, ...args: string[]): Promise<Child> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv })
  children.push(child)
  let heard = Promise.withResolvers<unknown>()
  child.on('message', (message) => heard.resolve(message))
  child.on('exit', (code) => heard.reject(new Error(`${file} ended with ${code} in the middle of the bench`)))
  const { port } = (await heard.promise) as Ready
  const ask = (message: object): Promise<unknown> => {
    heard = Promise.withResolvers<unknown>()
    child.send(message)
    return heard.promise
  }
  return { port, ask }
}

function report(results: Record<Side, Done[]>[], memory: Record<Side, number>, rounds: number): void {
  const width = Math.max(...cases.map(({ name }) => name.length)) + 20
  const row = (name: string, unit: string, through: number, direct: number, digits = 0): void => {
    const cells = [through, direct].map((value) => value.toFixed(digits).padStart(12))
    console.log(`${`${name}: ${unit}`.padEnd(width)}${cells.join('')}${(through / direct).toFixed(2).padStart(8)}`)
  }
  console.log(`${''.padEnd(width)}${'data port'.padStart(12)}${'direct'.padStart(12)}${'ratio'.padStart(8)}`)
  for (const [i, { name, kind }] of cases.entries()) {
    const { through, direct } = results[i]!
    const both = (of: (done: Done) => number): [number, number] => [median(through.map(of)), median(direct.map(of))]
    if (kind === 'streams') {
      const megabytes = (EVENT.length * EVENTS_PER_STREAM) / 1e6
      row(name, 'events/s', ...both((done) => done.perSecond * EVENTS_PER_STREAM))
      row(name, 'MB/s', ...both((done) => done.perSecond * megabytes), 1)
    } else {
      row(name, 'requests/s', ...both((done) => done.perSecond))
      row(name, 'p50 ms', ...both((done) => quantile(done.latenciesMs, 0.5)), 3)
      row(name, 'p99 ms', ...both((done) => quantile(done.latenciesMs, 0.99)), 3)
    }
  }
  row(`${IDLE_STREAMS} idle streams`, 'KiB each', memory.through / 1024, memory.direct / 1024, 1)
  const seconds = ((performance.now() - startMs) / 1000).toFixed(0)
  console.log(
    `medians of ${rounds} interleaved rounds; ${seconds} s in all. Memory beside a direct connection is the engine's.`,
  )
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
}
