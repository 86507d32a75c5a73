import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { openDatabase } from '../../src/store/database.ts'
import { startPostgresServer } from '../../test/support/postgres/postgres-server.ts'
import { storeWorld } from '../reconcile/stored-world.ts'
import { measureSharing, measureTable, type SharingTimes, type TableTimes } from './gateway.ts'
import { HEARTBEATS_TAKEN, measureHeartbeats, type HeartbeatTimes } from './heartbeats.ts'
import { HEARTBEAT_S, measureLeader, RARE_HEARTBEAT_S, TURN_S, type LeaderTimes } from './leader.ts'
import { picture } from './picture.ts'
import { postgresCpuMs } from './postgres-cpu.ts'
import { scaleWorld } from './scale-world.ts'
import { trafficOf } from './traffic.ts'

/**
 * How large a cluster may be: worlds of up to 10,000 nodes with ten replicas each, and up to 100 gateways, with the real
 * code of leader and gateway. Processor time, so that others on the machine do not count. `--write` draws the curves into
 * docs/images, `--postgres` measures the leader on a PostgreSQL of its own as well.
 */
const NODES = [10, 100, 1000, 3000, 10_000]
const GATEWAYS = [1, 3, 10, 30, 100]
const BUSY_EACH = 100
const POSTGRES_NODES = 3000

// So that what is in memory can be told from what is left over.
setFlagsFromString('--expose-gc')
Object.assign(globalThis, { gc: runInNewContext('gc') as unknown })

interface Measured {
  nodes: number
  leader: LeaderTimes
  heartbeats: HeartbeatTimes
  table: TableTimes
}

const all: Measured[] = []
for (const nodes of NODES) all.push(await measureAt(nodes))
const sharing: { gateways: number; times: SharingTimes }[] = []
const { table } = all.at(-1)!.table
for (const gateways of GATEWAYS) sharing.push({ gateways, times: await measureSharing(gateways, BUSY_EACH, table) })
tell()
if (process.argv.includes('--postgres')) await tellPostgres()
if (process.argv.includes('--write')) draw()

async function measureAt(nodes: number): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-bench-'))
  const db = await openDatabase({ file: join(folder, 'flotilla.db') })
  try {
    const world = scaleWorld(nodes)
    await storeWorld(db, world)
    const leader = await measureLeader(db)
    return { nodes, leader, heartbeats: await measureHeartbeats(db, world), table: await measureTable(leader.feed) }
  } finally {
    await db.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Cores that a leader needs for what happens all the time, however quiet its cluster is. */
function coresOf({ nodes, leader, heartbeats }: Measured, periodS: number) {
  const turnMs = periodS === HEARTBEAT_S ? leader.heardMs : leader.heardRarelyMs
  const taking = (nodes / periodS) * (heartbeats.readMs + heartbeats.takeMs)
  // After nodes were heard their rows are new, so that the feed looks at all of them.
  const turns = (turnMs + leader.feedAfterEventMs + leader.sampleMs + leader.startsMs) / TURN_S
  return { heartbeats: taking / 1000, turns: turns / 1000, all: (taking + turns) / 1000 }
}

function tell(): void {
  console.log('The leader on SQLite, ten replicas on each node: milliseconds of processor time\n')
  row(['nodes', 'heartbeat', 'turn: idle', 'one event', 'heard 5 s', 'heard 15 s', 'whole', 'feed', 'load', 'MB'])
  for (const { nodes, leader, heartbeats } of all) {
    const { idleMs, eventMs, heardMs, heardRarelyMs, wholeMs, feedAfterEventMs, sampleMs, heapMb } = leader
    const take = heartbeats.readMs + heartbeats.takeMs
    row([nodes, take, idleMs, eventMs, heardMs, heardRarelyMs, wholeMs, feedAfterEventMs, sampleMs, heapMb])
  }
  console.log('\nCores of the leader in a quiet cluster, by the period of heartbeats\n')
  row(['nodes', '5 s: beats', 'turns', 'all', '15 s: beats', 'turns', 'all'])
  for (const one of all) {
    const [often, rarely] = [coresOf(one, HEARTBEAT_S), coresOf(one, RARE_HEARTBEAT_S)]
    row([one.nodes, often.heartbeats, often.turns, often.all, rarely.heartbeats, rarely.turns, rarely.all])
  }
  console.log('\nThe whole routing table, to one gateway\n')
  row(['routes', 'parts', 'MB', 'make ms', 'read ms', 'holds MB'])
  for (const { nodes, table: t } of all) row([nodes * 10, t.parts, t.bytes / 1e6, t.makeMs, t.readMs, t.heapMb])
  console.log(`\nGateways with ${BUSY_EACH} requests in flight each, at ${NODES.at(-1)} nodes\n`)
  row(['gateways', 'reports/s', 'bytes each', 'ms/s of one', 'handed out/s', 'MB/s loads', 'MB/s deltas', 'MB/s beats'])
  for (const { gateways, times } of sharing) {
    const { heartbeats, deltas, loads } = traffic(gateways, times)
    const messages = heartbeats.messagesPerS + deltas.messagesPerS + loads.messagesPerS
    const megabytes = [loads, deltas, heartbeats].map(({ bytesPerS }) => bytesPerS / 1e6)
    row([gateways, times.reportsPerS, times.bytes, times.perSecondMs, messages, ...megabytes])
  }
}

/** The same work of the leader, and that of the server beside it. */
async function tellPostgres(): Promise<void> {
  console.log('\nOn PostgreSQL: milliseconds of the leader, and of the server for each heartbeat\n')
  row(['nodes', 'heartbeat', 'server', 'turn: idle', 'one event', 'heard 5 s', 'whole'])
  const server = await startPostgresServer()
  const db = await openDatabase({ url: server.url })
  try {
    const world = scaleWorld(POSTGRES_NODES)
    await storeWorld(db, world)
    const before = postgresCpuMs(server.url)
    const { readMs, takeMs } = await measureHeartbeats(db, world)
    const serverMs = (postgresCpuMs(server.url) - before) / HEARTBEATS_TAKEN
    const { idleMs, eventMs, heardMs, wholeMs } = await measureLeader(db)
    row([POSTGRES_NODES, readMs + takeMs, serverMs, idleMs, eventMs, heardMs, wholeMs])
  } finally {
    await db.close()
    await server.stop()
  }
}

function traffic(gateways: number, times: SharingTimes) {
  const { nodes, heartbeats, leader } = all.at(-1)!
  const { deltaBytes, heardBytes } = leader
  const report = { reportsPerS: times.reportsPerS, reportBytes: times.bytes }
  return trafficOf({ nodes, gateways, heartbeatBytes: heartbeats.bytes, deltaBytes, heardBytes, ...report })
}

function draw(): void {
  const folder = fileURLToPath(new URL('../../docs/images', import.meta.url))
  const cores = (periodS: number, what: 'heartbeats' | 'turns' | 'all') =>
    all.map((one) => ({ x: one.nodes, y: coresOf(one, periodS)[what] }))
  const leader = picture({
    title: 'Cores that the leader of a quiet cluster needs',
    x: { label: 'nodes, with ten replicas each', text: count, scale: 'log' },
    y: { label: '', text: count, scale: 'log' },
    series: [
      { name: 'heartbeats every 5 s: all', colour: 1, points: cores(HEARTBEAT_S, 'all') },
      { name: 'of that taking heartbeats', colour: 2, isDashed: true, points: cores(HEARTBEAT_S, 'heartbeats') },
      { name: 'heartbeats every 15 s: all', colour: 3, points: cores(RARE_HEARTBEAT_S, 'all') },
      { name: 'one core', colour: 6, isDashed: true, points: [10, 10_000].map((x) => ({ x, y: 1 })) },
    ],
  })
  const megabytes = (kind: 'heartbeats' | 'deltas' | 'loads') =>
    sharing.map(({ gateways, times }) => ({ x: gateways, y: traffic(gateways, times)[kind].bytesPerS / 1e6 }))
  const bus = picture({
    title: 'What the bus hands out in a second, at 10,000 nodes',
    x: { label: 'gateways, with 100 requests in flight each', text: count, scale: 'log' },
    y: { label: '', text: (value) => `${count(value)} MB`, scale: 'log' },
    series: [
      { name: 'heartbeats, to three frontends', colour: 2, points: megabytes('heartbeats') },
      { name: 'deltas of the routing table', colour: 3, points: megabytes('deltas') },
      { name: 'what gateways tell each other', colour: 1, points: megabytes('loads').filter(({ y }) => y > 0) },
    ],
  })
  writeFileSync(join(folder, 'scale-leader.svg'), leader)
  writeFileSync(join(folder, 'scale-bus.svg'), bus)
  console.log(`\nDrawn into ${folder}: scale-leader.svg, scale-bus.svg`)
}

function row(cells: readonly (string | number)[]): void {
  console.log(cells.map((cell) => (typeof cell === 'number' ? count(cell) : cell).padStart(12)).join(''))
}

function count(value: number): string {
  if (value >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString('en-US')
  return String(Number(value.toPrecision(2)))
}
