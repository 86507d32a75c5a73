import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { GatewayLoadMessage } from '../../api/bus/messages.ts'
import type { Bus } from '../../bus/bus.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { LoadSharing } from './load-sharing.ts'

/** A bus that records each report and delivers it to all gateways at once. */
class Wire {
  readonly said: GatewayLoadMessage[] = []
  readonly listeners: ((report: GatewayLoadMessage) => void)[] = []
  isUp = true

  readonly bus = {
    publish: (_: string, report: GatewayLoadMessage) => {
      this.said.push(report)
      for (const listener of this.listeners) listener(report)
    },
    subscribe: (_: string, listener: (report: GatewayLoadMessage) => void) => void this.listeners.push(listener),
    isConnected: () => this.isUp,
  } as unknown as Bus
}

/** The counts of one gateway, in place of its routing table. */
class Counts {
  own: Record<string, number> = {}
  elsewhere: Record<string, number> = {}

  ownCounts(): Record<string, number> {
    return { ...this.own }
  }

  setElsewhere(counts: ReadonlyMap<string, number>): void {
    this.elsewhere = Object.fromEntries(counts)
  }
}

function aGateway(runId: string, clock: VirtualClock, wire = new Wire()) {
  const table = new Counts()
  const sharing = new LoadSharing({ bus: wire.bus, clock, runId, table })
  const set = (own: Record<string, number>): void => {
    table.own = own
    sharing.changed()
  }
  return { table, sharing, wire, set }
}

const said = (wire: Wire) => wire.said.map(({ counts }) => counts)

describe('what a gateway says', () => {
  test('the first change at once, then at most one report in 200 ms, with the counts as they are then', async () => {
    const clock = new VirtualClock(1000)
    const { wire, set } = aGateway('a', clock)
    set({ r1: 1 })
    set({ r1: 1, r2: 1 })
    await clock.advance(0)
    expect(wire.said).toEqual([{ gateway: 'a', seq: 1, counts: { r1: 1, r2: 1 } }])
    for (let i = 2; i <= 20; i += 1) {
      set({ r1: i })
      await clock.advance(10)
    }
    expect(said(wire)).toEqual([{ r1: 1, r2: 1 }])
    await clock.advance(10)
    expect(said(wire)).toEqual([{ r1: 1, r2: 1 }, { r1: 20 }])
  })

  test('less often where there are many others, and never less than once a second', async () => {
    const clock = new VirtualClock()
    const { wire, set } = aGateway('a', clock)
    const reportsAmong = async (others: number): Promise<number> => {
      wire.said.length = 0
      for (let i = 0; i < 300; i += 1) {
        // They are heard every second, as gateways with requests are.
        if (i % 50 === 0) {
          for (let g = 0; g < others; g += 1)
            wire.listeners[0]!({ gateway: `g${g}`, seq: 1000 * others + i, counts: {} })
        }
        set({ r1: i })
        await clock.advance(20)
      }
      return wire.said.length
    }
    expect(await reportsAmong(5)).toBe(31)
    expect(await reportsAmong(50)).toBe(12)
    expect(await reportsAmong(500)).toBe(6)
  })

  test('nothing when a change was undone before it was told', async () => {
    const clock = new VirtualClock()
    const { wire, set } = aGateway('a', clock)
    set({ r1: 1 })
    set({})
    await clock.advance(5000)
    expect(wire.said).toEqual([])
  })

  test('every second while anything is in flight; once that there is nothing; then nothing', async () => {
    const clock = new VirtualClock()
    const { wire, set } = aGateway('a', clock)
    set({ r1: 1 })
    await clock.advance(3500)
    expect(said(wire)).toEqual(Array.from({ length: 4 }, () => ({ r1: 1 })))
    set({})
    await clock.advance(10_000)
    expect(said(wire).slice(4)).toEqual([{}])
    expect(wire.said.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5])
  })

  test('nothing while the bus is away, and all of it within a second when it is back', async () => {
    const clock = new VirtualClock()
    const { wire, set } = aGateway('a', clock)
    wire.isUp = false
    set({ r1: 7 })
    await clock.advance(10_000)
    expect(wire.said).toEqual([])
    wire.isUp = true
    await clock.advance(1000)
    expect(said(wire)).toEqual([{ r1: 7 }])
  })

  test('at its end that it has nothing, and no more after that', async () => {
    const clock = new VirtualClock()
    const { wire, set, sharing } = aGateway('a', clock)
    set({ r1: 1 })
    await clock.advance(0)
    sharing.dispose()
    set({ r1: 2 })
    await clock.advance(5000)
    expect(said(wire)).toEqual([{ r1: 1 }, {}])
  })

  test('also after its clock was set back by hours', async () => {
    const clock = new VirtualClock(10_000_000)
    let offsetMs = 0
    const wire = new Wire()
    const table = new Counts()
    const skewed = {
      nowMs: () => clock.nowMs() + offsetMs,
      after: (delayMs: number, callback: () => void) => clock.after(delayMs, callback),
    }
    const sharing = new LoadSharing({ bus: wire.bus, clock: skewed, runId: 'a', table })
    table.own = { r1: 1 }
    sharing.changed()
    await clock.advance(0)
    offsetMs = -3_600_000
    table.own = { r1: 2 }
    sharing.changed()
    await clock.advance(200)
    expect(said(wire)).toEqual([{ r1: 1 }, { r1: 2 }])
  })

  test('no more than the busiest 15,000 replicas', async () => {
    const clock = new VirtualClock()
    const { wire, set } = aGateway('a', clock)
    set(Object.fromEntries(Array.from({ length: 16_000 }, (_, i) => [`r${i}`, i + 1])))
    await clock.advance(0)
    const counts = wire.said[0]!.counts
    expect(Object.keys(counts)).toHaveLength(15_000)
    expect([counts['r15999'], counts['r999']]).toEqual([16_000, undefined])
  })
})

describe('what a gateway hears', () => {
  const report = (gateway: string, seq: number, counts: Record<string, number>) => ({ gateway, seq, counts })

  async function aListener(...reports: GatewayLoadMessage[]) {
    const clock = new VirtualClock()
    const { wire, table, sharing } = aGateway('me', clock)
    const hear = async (...heard: GatewayLoadMessage[]): Promise<Record<string, number>> => {
      for (const one of heard) for (const listener of wire.listeners) listener(one)
      await clock.advance(10)
      return table.elsewhere
    }
    await hear(...reports)
    return { clock, table, hear, sharing }
  }

  test('the sum of all others, and never its own words', async () => {
    const { table } = await aListener(
      report('a', 1, { r1: 1, r2: 2 }),
      report('b', 9, { r2: 3 }),
      report('me', 1, { r1: 50 }),
    )
    expect(table.elsewhere).toEqual({ r1: 1, r2: 5 })
  })

  test('a report that was overtaken says nothing any more', async () => {
    const { hear } = await aListener(report('a', 3, { r1: 1 }))
    expect(await hear(report('a', 2, { r1: 9, r2: 9 }), report('a', 3, { r2: 9 }))).toEqual({ r1: 1 })
    expect(await hear(report('a', 4, {}))).toEqual({})
    expect(await hear(report('a', 3, { r1: 1 }))).toEqual({})
  })

  test('a new run of a gateway begins to count anew', async () => {
    const { hear } = await aListener(report('a/1', 500, { r1: 4 }))
    expect(await hear(report('a/1', 501, {}), report('a/2', 1, { r1: 1 }))).toEqual({ r1: 1 })
  })

  test('a gateway that crashed is forgotten after 2 s, and only that one', async () => {
    const { clock, table, hear } = await aListener(report('dead', 7, { r1: 4 }), report('b', 1, { r1: 1 }))
    await clock.advance(1500)
    await hear(report('b', 2, { r1: 1 }))
    expect(table.elsewhere).toEqual({ r1: 5 })
    await clock.advance(600)
    expect(table.elsewhere).toEqual({ r1: 1 })
    await clock.advance(2000)
    expect(table.elsewhere).toEqual({})
    expect(await hear(report('dead', 1, { r2: 1 }))).toEqual({ r2: 1 })
  })

  test('no more than 1000 gateways', async () => {
    const { table } = await aListener(...Array.from({ length: 1010 }, (_, i) => report(`g${i}`, 1, { r1: 1 })))
    expect(table.elsewhere).toEqual({ r1: 1000 })
  })

  test('nothing after its end', async () => {
    const { clock, table, hear, sharing } = await aListener(report('a', 1, { r1: 1 }))
    sharing.dispose()
    await hear(report('a', 2, { r1: 5 }))
    await clock.advance(5000)
    expect(table.elsewhere).toEqual({ r1: 1 })
  })
})

test('whatever happens, 250 ms later each gateway knows what the others have', async () => {
  const act = fc.record({ who: fc.integer({ min: 0, max: 2 }), replica: fc.integer({ min: 0, max: 3 }), by: fc.nat(5) })
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(act, fc.nat(300)), { maxLength: 20 }), async (acts) => {
      const clock = new VirtualClock()
      const wire = new Wire()
      const gateways = ['a', 'b', 'c'].map((name) => aGateway(name, clock, wire))
      for (const [{ who, replica, by }, pauseMs] of acts) {
        const { table, set } = gateways[who]!
        const own = { ...table.own, [`r${replica}`]: by }
        set(Object.fromEntries(Object.entries(own).filter(([, count]) => count > 0)))
        await clock.advance(pauseMs)
      }
      await clock.advance(250)
      for (const { table } of gateways) {
        const sum: Record<string, number> = {}
        for (const other of gateways.filter((one) => one.table !== table)) {
          for (const [id, count] of Object.entries(other.table.own)) sum[id] = (sum[id] ?? 0) + count
        }
        expect(table.elsewhere).toEqual(sum)
      }
    }),
    { numRuns: 30 },
  )
})
