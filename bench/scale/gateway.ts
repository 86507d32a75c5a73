import { EventEmitter } from 'node:events'
import type { GatewayLoadMessage } from '../../src/api/bus/messages.ts'
import { subjects } from '../../src/api/bus/subjects.ts'
import type { RoutingFeed } from '../../src/control/routing-feed.ts'
import { LoadSharing } from '../../src/gateway/load-sharing.ts'
import { LiveTable } from '../../src/gateway/routing-table.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
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

const SECONDS = 3

/** One real gateway among others that each have so many requests in flight, at different replicas, and change all the time. */
export async function measureSharing(gateways: number, busyEach: number, table: LiveTable): Promise<SharingTimes> {
  const ids = table.models().flatMap(({ name }) => table.routesOf(name).map(({ replicaId }) => replicaId))
  const clock = new VirtualClock()
  const wire = new EventEmitter()
  wire.setMaxListeners(0)
  const sent: { count: number; bytes: number } = { count: 0, bytes: 0 }
  const run = (runId: string, counts: () => Record<string, number>, isMeasured: boolean): LoadSharing =>
    new LoadSharing({
      clock,
      runId,
      bus: {
        isConnected: () => true,
        publish: (_, message) => {
          const text = JSON.stringify(message)
          sent.count += 1
          sent.bytes += text.length
          wire.emit('load', text, runId)
        },
        subscribe: (_, handler) => {
          const hear = handler as unknown as (message: GatewayLoadMessage, nodeId: string) => void
          // Of all but one only the rate of reports is of interest: it may depend on how many there are.
          wire.on('load', (text: string, from: string) => {
            if (isMeasured) hear(subjects.gatewayLoad.message.parse(JSON.parse(text)), '')
            else hear({ gateway: from, seq: Number.MAX_SAFE_INTEGER, counts: {} }, '')
          })
        },
      },
      table: { ownCounts: counts, setElsewhere: (counts) => void (isMeasured && table.setElsewhere(counts)) },
    })
  let step = 0
  const others = Array.from({ length: gateways - 1 }, (_, g) =>
    run(`gateway-${String(g).padStart(28, '0')}`, () => busy(ids, g * 7919 + step, busyEach), false),
  )
  const own = run('measured', () => ({}), true)
  const idle = await cpuMs(() => undefined)
  let spentMs = -idle
  sent.count = sent.bytes = 0
  for (let ms = 0; ms < SECONDS * 1000; ms += 20) {
    step += 1
    for (const other of others) other.changed()
    spentMs += await cpuMs(() => clock.advance(20))
  }
  own.dispose()
  for (const other of others) other.dispose()
  table.setElsewhere(new Map())
  return {
    perSecondMs: spentMs / SECONDS,
    reportsPerS: sent.count / SECONDS,
    bytes: sent.bytes / Math.max(1, sent.count),
  }
}

function busy(ids: readonly string[], from: number, count: number): Record<string, number> {
  const entries = Array.from({ length: count }, (_, i) => [ids[(from + i * 13) % ids.length]!, 1] as const)
  return Object.fromEntries(entries)
}
