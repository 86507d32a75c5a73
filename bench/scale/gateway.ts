import type { GatewayLoadMessage } from '../../src/api/bus/messages.ts'
import { subjects } from '../../src/api/bus/subjects.ts'
import type { Bus } from '../../src/bus/bus.ts'
import type { RoutingFeed } from '../../src/control/routing/routing-feed.ts'
import { LoadSharing } from '../../src/gateway/table/load-sharing.ts'
import { LiveTable } from '../../src/gateway/table/routing-table.ts'
import { VirtualClock } from '../../test/support/virtual-clock.ts'
import { cpuMs, heapMb } from './measure.ts'

export interface TableTimes {
  parts: number
  bytes: number
  /** For the leader to make and write all parts once. */
  makeMs: number
  /** For a gateway to read all parts and take them in. */
  readMs: number
  heapMb: number
  table: LiveTable
}

/** What it takes to bring the whole table to one gateway. */
export async function measureTable(feed: RoutingFeed): Promise<TableTimes> {
  const { parts } = feed.snapshot(0)
  let texts: string[] = []
  const makeMs = await cpuMs(() => {
    texts = Array.from({ length: parts }, (_, part) => JSON.stringify({ ok: true, value: feed.snapshot(part) }))
  })
  const before = heapMb()
  const table = new LiveTable()
  const readMs = await cpuMs(() => {
    const all = texts.map((text) =>
      subjects.routingSnapshot.reply.parse((JSON.parse(text) as { value: unknown }).value),
    )
    const { parts: _, ...first } = all[0]!
    table.replace({ ...first, routes: all.flatMap(({ routes }) => routes) })
  })
  const bytes = texts.reduce((sum, text) => sum + text.length, 0)
  return { parts, bytes, makeMs, readMs, heapMb: heapMb() - before, table }
}

export interface SharingTimes {
  /** Processor time of one gateway in a second, for hearing of the others. */
  perSecondMs: number
  /** Reports of all gateways in a second, and how long one is. */
  reportsPerS: number
  bytes: number
}

interface Report {
  atMs: number
  text: string
}

const STEP_MS = 20
/** First they get to know each other. */
const WARM_UP_MS = 3000
const MEASURE_MS = 4000

/** Gateways that each have so many requests in flight, at different replicas, and change all the time. */
export async function measureSharing(gateways: number, busyEach: number, table: LiveTable): Promise<SharingTimes> {
  const reports = await recordReports(gateways, busyEach, table)
  // Once for nothing: moving a virtual clock takes time as well.
  const idleMs = await cpuMs(() => replay(reports, () => {}))
  const wire = newWire()
  const { bus } = wire
  const clock = new VirtualClock()
  const one = new LoadSharing({
    bus,
    clock,
    runId: 'measured',
    table: { ownCounts: () => ({}), setElsewhere: (counts) => table.setElsewhere(counts) },
  })
  const busyMs = await cpuMs(() =>
    replay(reports, (text) => wire.hear(subjects.gatewayLoad.message.parse(JSON.parse(text))), clock),
  )
  one.dispose()
  table.setElsewhere(new Map())
  const bytes = reports.reduce((sum, { text }) => sum + text.length, 0)
  return {
    perSecondMs: Math.max(0, busyMs - idleMs) / (MEASURE_MS / 1000),
    reportsPerS: reports.length / (MEASURE_MS / 1000),
    bytes: bytes / Math.max(1, reports.length),
  }
}

/** What all of them say. None takes in what another says, only that it is there: how often they speak depends on that. */
async function recordReports(gateways: number, busyEach: number, table: LiveTable): Promise<Report[]> {
  const ids = table.models().flatMap(({ name }) => table.routesOf(name).map(({ replicaId }) => replicaId))
  const clock = new VirtualClock()
  const wires = Array.from({ length: gateways }, () => newWire())
  const reports: Report[] = []
  let step = 0
  const all = wires.map((wire, g) => {
    const publish = (_: string, message: GatewayLoadMessage): void => {
      if (clock.nowMs() >= WARM_UP_MS) reports.push({ atMs: clock.nowMs() - WARM_UP_MS, text: JSON.stringify(message) })
      for (const other of wires) if (other !== wire) other.hear({ ...message, counts: {} })
    }
    const ownCounts = (): Record<string, number> => busy(ids, g * 7919 + step, busyEach)
    const runId = `0000000-0000-4000-8000-${String(g).padStart(12, '0')}`
    const bus = { ...wire.bus, publish: publish as Bus['publish'] }
    return new LoadSharing({ bus, clock, runId, table: { ownCounts, setElsewhere: () => {} } })
  })
  for (let ms = 0; ms < WARM_UP_MS + MEASURE_MS; ms += STEP_MS) {
    step += 1
    for (const one of all) one.changed()
    await clock.advance(STEP_MS)
  }
  const said = [...reports]
  for (const one of all) one.dispose()
  return said
}

async function replay(reports: readonly Report[], hear: (text: string) => void, clock = new VirtualClock()) {
  for (const { atMs, text } of reports) {
    if (atMs > clock.nowMs()) await clock.advance(atMs - clock.nowMs())
    hear(text)
  }
  await clock.advance(MEASURE_MS - clock.nowMs())
}

type LoadBus = Pick<Bus, 'publish' | 'subscribe' | 'isConnected'>

function newWire(): { bus: LoadBus; hear: (message: GatewayLoadMessage) => void } {
  let listener: (message: GatewayLoadMessage) => void = () => {}
  const subscribe = (_: string, handler: (message: GatewayLoadMessage) => void): void => void (listener = handler)
  const bus: LoadBus = { isConnected: () => true, publish: () => {}, subscribe: subscribe as Bus['subscribe'] }
  return { bus, hear: (message) => listener(message) }
}

function busy(ids: readonly string[], from: number, count: number): Record<string, number> {
  const entries = Array.from({ length: count }, (_, i) => [ids[(from + i * 13) % ids.length]!, 1] as const)
  return Object.fromEntries(entries)
}
