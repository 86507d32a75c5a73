import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LiveRoutes } from './live-routes.ts'
import type { Route } from './table.ts'

/** The reports between gateways promise it: what one gateway knows of another is at most this old. */
const STALE_MS = 200
const REPORT_EVERY_MS = 100

const none = (): boolean => false

function aGateway(replicas: number): LiveRoutes<Route> {
  const routes = new LiveRoutes<Route>()
  const rest = {
    generation: 1,
    modelName: 'm',
    nodeId: 'n',
    nodeName: 'n',
    address: '127.0.0.1:1',
    availableVram: null,
  }
  routes.replace(Array.from({ length: replicas }, (_, i) => ({ replicaId: `r${i}`, ...rest })))
  return routes
}

function dispatch(gateway: LiveRoutes<Route>): { replicaId: string; end: () => void } {
  const route = gateway.pick('m', 'least_loaded', {}, none)!
  return { replicaId: route.replicaId, end: gateway.begin(route, 0) }
}

const spreadOf = (counts: readonly number[]): number => Math.max(...counts) - Math.min(...counts)

function totals(gateways: readonly LiveRoutes<Route>[]): number[] {
  const ids = gateways[0]!.all().map(({ replicaId }) => replicaId)
  const own = gateways.map((gateway) => gateway.ownCounts())
  return ids.map((id) => own.reduce((sum, counts) => sum + (counts[id] ?? 0), 0))
}

describe('requests at once on idle replicas', () => {
  test('16 over 4 are 4, 4, 4, 4 on one gateway', () => {
    const gateway = aGateway(4)
    for (let i = 0; i < 16; i += 1) dispatch(gateway)
    expect(totals([gateway])).toEqual([4, 4, 4, 4])
  })

  test('any number over any number differ by at most one on one gateway', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.nat(100), (replicas, requests) => {
        const gateway = aGateway(replicas)
        for (let i = 0; i < requests; i += 1) dispatch(gateway)
        expect(spreadOf(totals([gateway]))).toBeLessThanOrEqual(1)
      }),
    )
  })

  /** Each gateway is even to within one by itself, and the sum of even parts is off by at most one for each part. */
  test('16 over 4, split in any way over gateways that have not heard of each other, differ by at most one for each', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(3), { minLength: 16, maxLength: 16 }),
        fc.integer({ min: 2, max: 4 }),
        (who, count) => {
          const gateways = Array.from({ length: count }, () => aGateway(4))
          for (const i of who) dispatch(gateways[i % count]!)
          expect(spreadOf(totals(gateways))).toBeLessThanOrEqual(count)
        },
      ),
    )
  })

  test('16 over 4 are 4, 4, 4, 4 on two gateways that hear of each other in between', () => {
    const gateways = [aGateway(4), aGateway(4)] as const
    for (let i = 0; i < 16; i += 1) {
      dispatch(gateways[i % 2]!)
      tell(gateways[0], gateways[1])
      tell(gateways[1], gateways[0])
    }
    expect(totals(gateways)).toEqual([4, 4, 4, 4])
  })
})

/**
 * Two gateways under traffic, whose counts reach each other late. Let A be the one that sent the last request to the
 * fuller replica, at s. To A the fuller one was then no fuller than the emptier one. What A did not know are requests
 * that B sent to the fuller one and that ended on the emptier one in the STALE_MS before s; what came after s is only
 * requests that ended. So the difference is at most 1 (the last request itself), and those B sent, and those that ended.
 */
test('two gateways differ by no more than what each could not know of the other', () => {
  const event = fc.record({
    afterMs: fc.oneof(fc.constant(0), fc.nat(60)),
    gateway: fc.constantFrom(0 as const, 1 as const),
    ends: fc.option(fc.nat(), { nil: undefined, freq: 2 }),
    delayMs: fc.nat(STALE_MS - REPORT_EVERY_MS),
  })
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 6 }),
      fc.array(event, { minLength: 20, maxLength: 150, size: 'max' }),
      (replicas, events) => {
        const gateways = [aGateway(replicas), aGateway(replicas)] as const
        const log: { atMs: number; gateway: number; what: 'began' | 'ended'; replicaId: string }[] = []
        const open: { gateway: number; replicaId: string; end: () => void }[] = []
        const wire = new Wire(gateways)
        let nowMs = 0
        for (const { afterMs, gateway, ends, delayMs } of events) {
          nowMs += afterMs
          wire.advance(nowMs, delayMs)
          const [ended] = ends === undefined ? [] : open.splice(ends % Math.max(1, open.length), 1)
          if (ended) {
            ended.end()
            log.push({ atMs: nowMs, gateway: ended.gateway, what: 'ended', replicaId: ended.replicaId })
          } else {
            const begun = dispatch(gateways[gateway])
            open.push({ gateway, ...begun })
            log.push({ atMs: nowMs, gateway, what: 'began', replicaId: begun.replicaId })
          }
          const counts = totals(gateways)
          const fuller = `r${counts.indexOf(Math.max(...counts))}`
          const emptier = `r${counts.indexOf(Math.min(...counts))}`
          const last = log.findLast(({ what, replicaId }) => what === 'began' && replicaId === fuller)
          const unknown = log.filter(
            (entry) =>
              entry.atMs >= last!.atMs - STALE_MS &&
              (entry.what === 'began'
                ? entry.replicaId === fuller && entry.gateway !== last!.gateway
                : entry.replicaId === emptier),
          )
          expect(spreadOf(counts)).toBeLessThanOrEqual(last ? 1 + unknown.length : 0)
        }
        for (const { end } of open) end()
        wire.advance(nowMs + STALE_MS, 0)
        wire.advance(nowMs + 2 * STALE_MS, 0)
        expect(gateways.flatMap((gateway) => gateway.all().map((route) => gateway.loadOf(route).elsewhere))).toEqual(
          Array.from({ length: 2 * replicas }, () => 0),
        )
      },
    ),
    { numRuns: 300 },
  )
})

/** Carries each gateway's counts to the other: sent every REPORT_EVERY_MS, and there before they are STALE_MS old. */
class Wire {
  readonly #gateways: readonly [LiveRoutes<Route>, LiveRoutes<Route>]
  #reports: { atMs: number; deliver: () => void }[] = []
  #sentMs = 0

  constructor(gateways: readonly [LiveRoutes<Route>, LiveRoutes<Route>]) {
    this.#gateways = gateways
  }

  /** Nothing happens on the gateways between two calls, so that a report of any moment between them is one of now. */
  advance(nowMs: number, delayMs: number): void {
    while (this.#sentMs + REPORT_EVERY_MS <= nowMs) {
      this.#sentMs += REPORT_EVERY_MS
      this.#report(0, 1, this.#sentMs + delayMs)
      this.#report(1, 0, this.#sentMs + delayMs)
    }
    // In the order of sending: one bus keeps the order of one sender.
    while (this.#reports.length > 0 && this.#reports[0]!.atMs <= nowMs) this.#reports.shift()!.deliver()
  }

  #report(from: 0 | 1, to: 0 | 1, atMs: number): void {
    const counts = new Map(Object.entries(this.#gateways[from].ownCounts()))
    this.#reports.push({ atMs, deliver: () => this.#gateways[to].setElsewhere(counts) })
  }
}

function tell(from: LiveRoutes<Route>, to: LiveRoutes<Route>): void {
  to.setElsewhere(new Map(Object.entries(from.ownCounts())))
}
