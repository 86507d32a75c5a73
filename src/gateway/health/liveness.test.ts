import { describe, expect, test } from 'vitest'
import { silentLogger } from '../../platform/run/log.ts'
import { aRouteMessage, aSnapshot } from '../../../test/support/gateway/gateway-stage.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { Liveness } from './liveness.ts'
import type { Verdict } from './probe.ts'
import { LiveTable } from '../table/routing-table.ts'

const SECOND = 1000

/** Two replicas of one model, probes that are answered by hand, and a clock that stands still. */
function aLiveness(ttlMs?: number) {
  const clock = new VirtualClock(1_000_000)
  const table = new LiveTable()
  table.replace(aSnapshot({ routes: [aRouteMessage(0), aRouteMessage(1)] }))
  const probes: { replicaId: string; answer: (verdict: Verdict) => void }[] = []
  const liveness = new Liveness({
    table,
    clock,
    log: silentLogger,
    ttlMs,
    probe: ({ replicaId }) => new Promise((answer) => void probes.push({ replicaId, answer })),
  })
  const route = (i = 0) => table.route(`r${i}`)!
  const isOut = (i = 0) => liveness.whyOut(route(i)) !== undefined
  const fail = (times: number) => {
    for (let i = 0; i < times; i += 1) liveness.failed(route(), 'no connection')
  }
  const heard = () =>
    table.apply({ feed: 'f', version: 1, from_version: 1, set: [], removed: [], heard: ['n0'] }, clock.nowMs())
  return { clock, table, probes, liveness, route, isOut, fail, heard }
}

const alive: Verdict = { state: 'alive' }
const dead: Verdict = { state: 'dead', why: 'connect ECONNREFUSED' }
const silent: Verdict = { state: 'silent', why: 'no answer within 2 s' }

describe('a probe', () => {
  test('is made of one that nobody has heard of, and a success is good for 30 s', async () => {
    const { liveness, probes, clock, route } = aLiveness()
    const first = liveness.check(route())
    probes[0]!.answer(alive)
    expect(await first).toEqual(alive)
    await clock.advance(30 * SECOND)
    expect(liveness.check(route())).toBeUndefined()
    await clock.advance(1)
    expect(liveness.check(route())).toBeDefined()
    expect(probes).toHaveLength(2)
  })

  test('is one, however many ask at once, and all get its answer', async () => {
    const { liveness, probes, route } = aLiveness()
    const asked = Array.from({ length: 20 }, async () => liveness.check(route()))
    expect(probes).toHaveLength(1)
    probes[0]!.answer(dead)
    expect(await Promise.all(asked)).toEqual(Array.from({ length: 20 }, () => dead))
  })

  test('that failed is forgotten: the next one asks again', async () => {
    const { liveness, probes, route } = aLiveness()
    const first = liveness.check(route())
    probes[0]!.answer(dead)
    await first
    const second = liveness.check(route())
    probes[1]!.answer(alive)
    expect(await second).toEqual(alive)
  })

  test('of one replica says nothing of another', async () => {
    const { liveness, probes, route } = aLiveness()
    const first = liveness.check(route(0))
    probes[0]!.answer(alive)
    await first
    expect(liveness.check(route(1))).toBeDefined()
    expect(probes.map(({ replicaId }) => replicaId)).toEqual(['r0', 'r1'])
  })

  test('is not needed after an answer, nor after a heartbeat of the node', async () => {
    const { liveness, probes, clock, route, heard } = aLiveness()
    const contact = liveness.contact(route())
    contact.heard(clock.nowMs())
    contact.end()
    expect(liveness.check(route())).toBeUndefined()
    await clock.advance(31 * SECOND)
    heard()
    expect(liveness.check(route())).toBeUndefined()
    expect(probes).toHaveLength(0)
  })

  test('is not needed while an answer is coming, however long ago it began', async () => {
    const { liveness, clock, route } = aLiveness()
    const contact = liveness.contact(route())
    contact.heard(clock.nowMs())
    await clock.advance(600 * SECOND)
    contact.heard(clock.nowMs())
    expect(liveness.check(route())).toBeUndefined()
  })

  test('is needed after a failure, until something newer is heard', async () => {
    const { liveness, clock, route, heard } = aLiveness()
    heard()
    liveness.failed(route(), 'no connection')
    expect(liveness.check(route())).toBeDefined()
    await clock.advance(1)
    heard()
    expect(liveness.check(route())).toBeUndefined()
  })

  test('is never made with a time of 0', () => {
    const { liveness, route } = aLiveness(0)
    expect(liveness.check(route())).toBeUndefined()
  })

  test('that is not answered by one in the middle of an answer finds it busy, not dead', async () => {
    const { liveness, probes, clock, route } = aLiveness(SECOND)
    const contact = liveness.contact(route())
    contact.heard(clock.nowMs())
    await clock.advance(10 * SECOND)
    const checking = liveness.check(route())
    probes[0]!.answer(silent)
    expect(await checking).toEqual(alive)
    contact.end()
    const later = liveness.check(route())
    probes[1]!.answer(silent)
    expect(await later).toEqual(silent)
  })

  test('that is refused finds it dead, also in the middle of an answer', async () => {
    const { liveness, probes, clock, route } = aLiveness(SECOND)
    liveness.contact(route()).heard(clock.nowMs())
    await clock.advance(10 * SECOND)
    const checking = liveness.check(route())
    probes[0]!.answer(dead)
    expect(await checking).toEqual(dead)
  })
})

describe('leaving out', () => {
  test('begins with the third failure in a row, for 5 s, and doubles up to 60 s', async () => {
    const { clock, isOut, fail } = aLiveness()
    fail(2)
    expect(isOut()).toBe(false)
    for (const seconds of [5, 10, 20, 40, 60, 60]) {
      fail(1)
      await clock.advance(seconds * SECOND - 1)
      expect(isOut()).toBe(true)
      await clock.advance(1)
      expect(isOut()).toBe(false)
    }
  })

  test('is not made longer by what was already on its way', async () => {
    const { clock, isOut, fail } = aLiveness()
    fail(50)
    await clock.advance(5 * SECOND)
    expect(isOut()).toBe(false)
  })

  test('ends with an answer, and then counts from the beginning', () => {
    const { clock, liveness, route, isOut, fail } = aLiveness()
    fail(3)
    liveness.contact(route()).heard(clock.nowMs())
    expect(isOut()).toBe(false)
    fail(2)
    expect(isOut()).toBe(false)
  })

  test('does not end with another piece of an answer that had begun before', () => {
    const { clock, liveness, route, isOut, fail } = aLiveness()
    const contact = liveness.contact(route())
    contact.heard(clock.nowMs())
    fail(3)
    contact.heard(clock.nowMs())
    expect(isOut()).toBe(true)
  })

  test.each([
    ['generation', { generation: 8 }, false],
    ['address', { address: '127.0.0.1:2' }, false],
    ['free VRAM alone', { available_vram: 5 }, true],
  ])('when the table names another %s', (_, fields, stays) => {
    const { table, isOut, fail } = aLiveness()
    fail(3)
    table.apply({ feed: 'f', version: 2, from_version: 1, set: [aRouteMessage(0, fields)], removed: [], heard: [] }, 0)
    expect(isOut()).toBe(stays)
  })

  test.each([404, 409])('a refusal with %i leaves out that replica at once, and it alone', async (status) => {
    const { liveness, clock, route, isOut } = aLiveness()
    liveness.refused(route(), status)
    expect([isOut(0), isOut(1)]).toEqual([true, false])
    await clock.advance(60 * SECOND)
    expect(isOut(0)).toBe(false)
  })

  test('other refusals count like failures', () => {
    const { liveness, route, isOut } = aLiveness()
    liveness.refused(route(), 503)
    liveness.refused(route(), 502)
    expect(isOut()).toBe(false)
    liveness.refused(route(), 503)
    expect(isOut()).toBe(true)
    expect(liveness.whyOut(route())).toBe('ejected: 3 failures in a row, the last: refused with status 503')
  })

  test('ends when a probe finds it back, which is made once a second and for which nobody waits', async () => {
    const { clock, isOut, fail, probes } = aLiveness()
    fail(3)
    expect([isOut(), isOut(), probes.length]).toEqual([true, true, 1])
    probes[0]!.answer(dead)
    await clock.advance(SECOND - 1)
    expect([isOut(), probes.length]).toEqual([true, 1])
    await clock.advance(1)
    expect([isOut(), probes.length]).toEqual([true, 2])
    probes[1]!.answer(alive)
    await clock.advance(0)
    expect([isOut(), probes.length]).toEqual([false, 2])
  })

  test('of one that no probe finds is as long as before', async () => {
    const { clock, isOut, fail, probes } = aLiveness()
    fail(3)
    for (let second = 0; second < 5; second += 1) {
      expect(isOut()).toBe(true)
      probes.at(-1)!.answer(dead)
      await clock.advance(SECOND)
    }
    expect([isOut(), probes.length]).toEqual([false, 5])
  })

  test('what is known of replicas that have left is not kept for ever', () => {
    const { liveness, table, route } = aLiveness()
    const gone = Array.from({ length: 5000 }, (_, i) => ({ ...route(), replicaId: `gone${i}` }))
    for (const one of gone) liveness.failed(one, 'no connection')
    for (const one of gone) liveness.failed(one, 'no connection')
    for (const one of gone) liveness.failed(one, 'no connection')
    expect(table.route('gone0')).toBeUndefined()
    expect(gone.filter((one) => liveness.whyOut(one) !== undefined).length).toBeLessThan(1500)
  })
})
