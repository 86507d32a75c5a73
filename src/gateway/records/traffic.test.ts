import { describe, expect, test } from 'vitest'
import { gatewayTraffic, type GatewayTrafficMessage } from '../../api/bus/messages.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import type { Decision } from './decision.ts'
import { GatewayTraffic } from './traffic.ts'

function aGateway(isModel = (_name: string): boolean => true) {
  const clock = new VirtualClock(1000)
  const said: GatewayTrafficMessage[] = []
  const wire = { isUp: true }
  const bus = {
    publish: (_name: string, message: unknown) => void said.push(gatewayTraffic.parse(message)),
    isConnected: () => wire.isUp,
  }
  const traffic = new GatewayTraffic({ bus, clock, runId: 'g', isModel })
  /** A request that took 50 ms, 20 to the first byte. */
  const serve = (fields: Partial<Decision> = {}, replica: string | null = 'r1'): void => {
    const nowMs = clock.nowMs()
    const times = { atMs: nowMs - 50, firstByteMs: nowMs - 30, endedMs: nowMs }
    const tries = replica === null ? [] : [{ route: { replicaId: replica } }]
    traffic.ended({ model: 'm', status: 200, ...times, tries, ...fields } as unknown as Decision)
  }
  return { clock, said, wire, traffic, serve }
}

describe('what a gateway says of what it has served', () => {
  test('is told each second while requests end, and once more', async () => {
    const { clock, said, serve } = aGateway()
    await clock.advance(5000)
    expect(said).toEqual([])
    for (let i = 0; i < 10; i += 1) {
      serve()
      await clock.advance(250)
    }
    expect(said.map(({ seq, models }) => [seq, models['m']!.requests])).toEqual([
      [1, 4],
      [2, 8],
    ])
    await clock.advance(60_000)
    expect(said.map(({ models }) => models['m']!.requests)).toEqual([4, 8, 10, 10])
    serve()
    await clock.advance(1000)
    expect(said.at(-1)).toEqual({
      gateway: 'g',
      seq: 5,
      models: { m: { requests: 11, errors: 0, first_byte_ms: 220, duration_ms: 550 } },
      replicas: { r1: 11 },
    })
  })

  test('failures are counted, but not that a client went away', async () => {
    const { clock, said, serve } = aGateway()
    serve({ status: 502, firstByteMs: 0 }, 'r2')
    serve({ status: 499 })
    serve({ status: 429, firstByteMs: 0 }, null)
    await clock.advance(1000)
    expect(said[0]!.models).toEqual({ m: { requests: 3, errors: 2, first_byte_ms: 120, duration_ms: 150 } })
    expect(said[0]!.replicas).toEqual({ r1: 1, r2: 1 })
  })

  test('what clients make up is not counted', async () => {
    const { clock, said, serve } = aGateway((name) => name === 'constructor')
    serve({ model: 'nonsense' })
    serve({ model: null })
    await clock.advance(2000)
    expect(said).toEqual([])
    serve({ model: 'constructor' })
    await clock.advance(1000)
    expect(Object.keys(said[0]!.models)).toEqual(['constructor'])
  })

  test('what was idle for a minute is left out and begins anew', async () => {
    const { clock, said, serve } = aGateway()
    serve({ model: 'old' }, 'old#0')
    await clock.advance(40_000)
    serve()
    await clock.advance(21_000)
    serve()
    await clock.advance(1000)
    expect(Object.keys(said.at(-1)!.models)).toEqual(['m'])
    expect(said.at(-1)!.replicas).toEqual({ r1: 2 })
    serve({ model: 'old' }, 'old#0')
    await clock.advance(1000)
    expect(said.at(-1)!.models['old']!.requests).toBe(1)
  })

  test('names beyond a limit are not counted until others have been idle', async () => {
    const { clock, said, serve } = aGateway()
    for (let i = 0; i < 1200; i += 1) serve({ model: `m${i}` }, `r${i}`)
    for (let i = 0; i < 6000; i += 1) serve({ model: 'm0' }, `r${i}`)
    await clock.advance(1000)
    expect(Object.keys(said[0]!.models)).toHaveLength(1000)
    expect(Object.keys(said[0]!.replicas)).toHaveLength(5000)
    await clock.advance(70_000)
    serve({ model: 'm1100' })
    await clock.advance(1000)
    expect(said.at(-1)!.models).toMatchObject({ m1100: { requests: 1 } })
  })

  test('with the bus away nothing is kept for it; what it missed is in the next report', async () => {
    const { clock, said, wire, serve } = aGateway()
    wire.isUp = false
    serve()
    await clock.advance(5000)
    wire.isUp = true
    expect(said).toEqual([])
    serve()
    await clock.advance(1000)
    expect(said).toMatchObject([{ seq: 3, models: { m: { requests: 2 } } }])
  })

  test('the last words are said at the end, if there are any', async () => {
    const { clock, said, serve, traffic } = aGateway()
    serve()
    traffic.dispose()
    traffic.dispose()
    await clock.advance(5000)
    expect(said).toMatchObject([{ seq: 1, models: { m: { requests: 1 } } }])
  })
})
