import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { startNatsServer } from '../../test/support/bus/nats-server.ts'
import type { Done, Ready, Work } from './messages.ts'

/**
 * The embedded broker beside nats-server: the same nats.js clients, in the same run, turn by turn, so that whatever
 * else the machine does falls on both. Medians, because single rounds swing by a third on a busy machine. Each number
 * is what the whole chain does: two client processes and the broker between them share the machine's cores.
 */
const ROUNDS = 5
const REQUESTS_MS = 350
/** By number of subscribers: few enough that none can fall behind by the 64 MiB that a broker lets wait for it. */
const PUBLISHES = [
  { subscribers: 1, count: 200_000 },
  { subscribers: 10, count: 30_000 },
]
/** No round starts later than this: a slow machine gets fewer rounds, never a longer run. */
const LAST_START_MS = 40_000

const cases: { name: string; work: Work }[] = [
  ...[128, 4096].flatMap((bytes) =>
    [1, 16, 64].map((inFlight) => ({
      name: `request/reply ${bytes} B, ${inFlight} in flight`,
      work: { kind: 'requests' as const, inFlight, bytes, durationMs: REQUESTS_MS },
    })),
  ),
  ...PUBLISHES.map(({ subscribers, count }) => ({
    name: `publish 128 B, ${subscribers} subscriber${subscribers === 1 ? '' : 's'}`,
    work: { kind: 'publishes' as const, subscribers, bytes: 128, count },
  })),
]

const children: ChildProcess[] = []
const startMs = performance.now()
const nats = await startNatsServer()
try {
  const embedded = await start('broker-process.ts')
  const sides = { ours: await startClients(embedded.url), theirs: await startClients(nats.url) }
  const rates = cases.map(() => ({ ours: [] as number[], theirs: [] as number[] }))
  let rounds = 0
  // One round more than is counted: the first warms up compilers and caches.
  for (; rounds <= ROUNDS && performance.now() - startMs < LAST_START_MS; rounds += 1) {
    for (const [i, { work }] of cases.entries()) {
      for (const side of rounds % 2 === 0 ? (['ours', 'theirs'] as const) : (['theirs', 'ours'] as const)) {
        const rate = await run(sides[side], work)
        if (rounds > 0) rates[i]![side].push(rate)
      }
    }
  }
  report(rates, rounds - 1)
} finally {
  for (const child of children) if (child.connected) child.disconnect()
  await nats.stop()
}

async function startClients(url: string): Promise<Child> {
  await start('far-process.ts', url, '1', '10')
  return start('near-process.ts', url)
}

interface Child {
  process: ChildProcess
  url: string
  /** The next thing it says; rejects when it ends instead. */
  next: () => Promise<unknown>
}

async function start(file: string, ...args: string[]): Promise<Child> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args)
  children.push(child)
  let heard: PromiseWithResolvers<unknown> | undefined
  child.on('message', (message) => heard?.resolve(message))
  child.on('exit', (code) => heard?.reject(new Error(`${file} ended with ${code} in the middle of the bench`)))
  const next = (): Promise<unknown> => (heard = Promise.withResolvers<unknown>()).promise
  const { url } = (await next()) as Ready
  return { process: child, url, next }
}

async function run(near: Child, work: Work): Promise<number> {
  const done = near.next()
  near.process.send(work)
  return ((await done) as Done).perSecond
}

function report(rates: { ours: number[]; theirs: number[] }[], rounds: number): void {
  const rows = cases.map(({ name }, i) => {
    const ours = median(rates[i]!.ours)
    const theirs = median(rates[i]!.theirs)
    return { name, ours, theirs, ratio: ours / theirs }
  })
  const width = Math.max(...rows.map(({ name }) => name.length))
  console.log(`${'messages per second'.padEnd(width)}  embedded  nats-server  ratio`)
  for (const { name, ours, theirs, ratio } of rows) {
    const columns = [ours.toFixed(0).padStart(8), theirs.toFixed(0).padStart(11), ratio.toFixed(2).padStart(5)]
    console.log(`${name.padEnd(width)}  ${columns.join('  ')}`)
  }
  const seconds = ((performance.now() - startMs) / 1_000).toFixed(0)
  console.log(`medians of ${rounds} interleaved rounds; ${seconds} s in all`)
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
