import { describe, expect, test } from 'vitest'
import { HISTORY_STEPS, liveTraffic } from '../../api/admin/live-schemas.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { Traffic } from './traffic.ts'

const counts = (requests: number, errors = 0) => ({
  requests,
  errors,
  first_byte_ms: requests * 20,
  duration_ms: requests * 100,
})

function aFrontend(startMs = 1_000_000) {
  const clock = new VirtualClock(startMs)
  const traffic = new Traffic(clock)
  /** Gateway `g` has served so many requests of `m` since it began, all by one replica. */
  const hear = (seq: number, requests: number, errors = 0, gateway = 'g'): void =>
    traffic.hear({ gateway, seq, models: { m: counts(requests, errors) }, replicas: { r1: requests } })
  const view = () => liveTraffic.parse(traffic.view())
  const served = (): number => view().cluster.history.reduce((sum, count) => sum + count, 0)
  return { clock, traffic, hear, view, served }
}

describe('the traffic of a cluster', () => {
  test('is nothing without a request', () => {
    const { view } = aFrontend()
    const history = Array.from({ length: HISTORY_STEPS }, () => 0)
    expect(view()).toEqual({
      cluster: { rate: 0, error_rate: 0, latency_ms: null, first_byte_ms: null, history },
      models: {},
      replicas: {},
    })
  })

  test('ten requests a second are told as ten a second, with their means and history', async () => {
    const { clock, hear, view } = aFrontend()
    for (let second = 1; second <= 60; second += 1) {
      hear(second, second * 10, second)
      await clock.advance(1000)
    }
    const { cluster, models, replicas } = view()
    expect(cluster).toMatchObject({ rate: 10, error_rate: 1, latency_ms: 100, first_byte_ms: 20 })
    expect(cluster.history).toEqual(Array.from({ length: HISTORY_STEPS }, () => 20))
    expect(models).toEqual({ m: cluster })
    expect(replicas).toEqual({ r1: 10 })
  })

  test('fades away within a minute, and is gone then', async () => {
    const { clock, hear, view, served } = aFrontend()
    hear(1, 50)
    await clock.advance(1000)
    expect(view().cluster.rate).toBeCloseTo(50 / 11, 1)
    await clock.advance(12_000)
    expect(view()).toMatchObject({ cluster: { rate: 0, latency_ms: 100 }, models: { m: { rate: 0 } }, replicas: {} })
    expect(served()).toBe(50)
    await clock.advance(60_000)
    expect(view()).toMatchObject({ cluster: { rate: 0, latency_ms: null }, models: {}, replicas: {} })
    expect(served()).toBe(0)
  })

  test('is summed over gateways', async () => {
    const { clock, hear, view } = aFrontend()
    hear(1, 20, 0, 'a')
    hear(1, 40, 20, 'b')
    await clock.advance(2000)
    expect(view().models['m']).toMatchObject({ rate: 6, error_rate: 2, latency_ms: 100 })
  })

  test('a report that was lost is made good by the next', async () => {
    const { clock, hear, served } = aFrontend()
    hear(1, 10)
    await clock.advance(3000)
    hear(4, 45)
    await clock.advance(2000)
    expect(served()).toBe(45)
  })

  test('what a gateway served before we listened is not of now', async () => {
    const { clock, hear, served } = aFrontend()
    hear(500, 100_000)
    await clock.advance(1000)
    hear(501, 100_007)
    await clock.advance(2000)
    expect(served()).toBe(7)
  })

  test('a gateway that began anew counts from 0, under the same name or another', async () => {
    const { clock, hear, served } = aFrontend()
    hear(1, 10)
    hear(2, 30)
    hear(1, 5)
    hear(2, 6)
    hear(1, 3, 0, 'g again')
    await clock.advance(2000)
    expect(served()).toBe(30 + 6 + 3)
  })

  test('a model that was left out begins at 0', async () => {
    const { clock, traffic, hear, served } = aFrontend()
    hear(1, 10)
    traffic.hear({ gateway: 'g', seq: 2, models: {}, replicas: {} })
    hear(3, 12)
    await clock.advance(2000)
    expect(served()).toBe(22)
    // Even when the report that left it out was lost.
    hear(5, 4)
    await clock.advance(2000)
    expect(served()).toBe(26)
  })

  test('a gateway may be silent for minutes and go on', async () => {
    const { clock, hear, served } = aFrontend()
    hear(1, 10)
    await clock.advance(600_000)
    hear(2, 13)
    await clock.advance(2000)
    expect(served()).toBe(3)
  })

  test('figures are worked out once a second at most', async () => {
    const { clock, traffic, hear } = aFrontend()
    const first = traffic.view()
    hear(1, 10)
    await clock.advance(999)
    expect(traffic.view()).toBe(first)
    await clock.advance(1)
    expect(traffic.view()).not.toBe(first)
  })

  test('a clock that is set back neither fails nor counts twice', async () => {
    const clock = { nowMs: () => nowMs, after: () => () => {} }
    let nowMs = 10_000_000
    const traffic = new Traffic(clock)
    const hear = (seq: number, requests: number): void =>
      traffic.hear({ gateway: 'g', seq, models: { m: counts(requests) }, replicas: {} })
    hear(1, 10)
    nowMs -= 5000
    hear(2, 12)
    expect(traffic.view().cluster.latency_ms).toBe(100)
    nowMs -= 3_600_000
    hear(3, 15)
    nowMs += 2000
    expect(traffic.view().cluster.history.at(-1)).toBe(3)
  })

  test('gateways and models beyond a limit are not remembered', async () => {
    const { clock, traffic, hear, view } = aFrontend()
    for (let i = 0; i < 300; i += 1) hear(5, 10, 0, `g${i}`)
    // The first of them were forgotten: what they say is a beginning again.
    hear(6, 20, 0, 'g0')
    await clock.advance(2000)
    expect(view().cluster.rate).toBe(0)
    hear(6, 20, 0, 'g299')
    const many = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`m${i}`, counts(1)]))
    traffic.hear({ gateway: 'many', seq: 1, models: many, replicas: {} })
    await clock.advance(2000)
    expect(view().models['m']!.rate).toBeGreaterThan(0)
    expect(Object.keys(view().models)).toHaveLength(1000)
  })
})
