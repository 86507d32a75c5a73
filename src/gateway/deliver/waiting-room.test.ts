import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { WaitingRoom, type WaitingRoomLimits } from './waiting-room.ts'

const stays = new AbortController().signal

function aRoom(limits: Partial<WaitingRoomLimits> = {}) {
  const clock = new VirtualClock()
  return { clock, room: new WaitingRoom(clock, limits) }
}

describe('a request', () => {
  test('is let in at once as long as there is place, whatever its model', async () => {
    const { room } = aRoom({ runningPerModel: 1 })
    const places = await Promise.all(['a', 'b', 'c'].map((model) => room.enter(model, stays)))
    expect([room.running, room.countsOf('a')]).toEqual([3, { running: 1, waiting: 0 }])
    for (const leave of places) leave()
    expect([room.running, room.countsOf('a')]).toEqual([0, { running: 0, waiting: 0 }])
  })

  test('that gives its place back twice gives it back once', async () => {
    const { room } = aRoom()
    const leave = await room.enter('m', stays)
    await room.enter('m', stays)
    leave()
    leave()
    expect(room.countsOf('m')).toEqual({ running: 1, waiting: 0 })
  })

  test('waits for its model in the order of arrival, and for no other', async () => {
    const { room } = aRoom({ runningPerModel: 1 })
    const leave = await room.enter('m', stays)
    const order: number[] = []
    const waiting = [1, 2, 3].map(async (n) => {
      const leaveNext = await room.enter('m', stays)
      order.push(n)
      leaveNext()
    })
    expect(room.countsOf('m')).toEqual({ running: 1, waiting: 3 })
    const leaveOther = await room.enter('other', stays)
    leave()
    await Promise.all(waiting)
    leaveOther()
    expect(order).toEqual([1, 2, 3])
    expect(room.running).toBe(0)
  })
})

describe('refusals say how many run and wait, and when to come again', () => {
  test('the gateway is full: 503', async () => {
    const { room } = aRoom({ running: 2 })
    await room.enter('a', stays)
    const leave = await room.enter('b', stays)
    const refused = { status: 503, retryAfterS: 2, message: expect.stringContaining('runs 2 requests') as string }
    await expect(room.enter('c', stays)).rejects.toMatchObject(refused)
    leave()
    await expect(room.enter('c', stays)).resolves.toBeTypeOf('function')
  })

  test('too many wait for a model: 429', async () => {
    const { room } = aRoom({ runningPerModel: 1, waitingPerModel: 2 })
    const leave = await room.enter('m', stays)
    const waiting = [room.enter('m', stays), room.enter('m', stays)]
    const message = expect.stringContaining('1 requests run, which is its limit, and 2 wait') as string
    await expect(room.enter('m', stays)).rejects.toMatchObject({ status: 429, retryAfterS: 2, message })
    leave()
    for (const place of waiting) (await place)()
    expect(room.running).toBe(0)
  })

  test('no place in time: 503, and the queue is shorter', async () => {
    const { room, clock } = aRoom({ runningPerModel: 1 })
    await room.enter('m', stays)
    const late = room.enter('m', stays)
    late.catch(() => {})
    await clock.advance(59_999)
    expect(room.countsOf('m').waiting).toBe(1)
    await clock.advance(1)
    await expect(late).rejects.toMatchObject({ status: 503, retryAfterS: 2 })
    expect(room.countsOf('m')).toEqual({ running: 1, waiting: 0 })
  })
})

test('a client that goes away leaves the queue at once, and the one behind it moves up', async () => {
  const { room } = aRoom({ runningPerModel: 1 })
  const leave = await room.enter('m', stays)
  const client = new AbortController()
  const gone = room.enter('m', client.signal)
  const behind = room.enter('m', stays)
  client.abort()
  expect(room.countsOf('m')).toEqual({ running: 1, waiting: 1 })
  await expect(gone).rejects.toMatchObject({ code: 'client_gone' })
  leave()
  expect(await behind).toBeTypeOf('function')
  await expect(room.enter('m', client.signal)).rejects.toMatchObject({ code: 'client_gone' })
})

type Step = { does: 'enter'; model: string } | { does: 'leave' | 'abort'; which: number } | { does: 'wait'; ms: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ does: fc.constant('enter' as const), model: fc.constantFrom('a', 'b') }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constantFrom('leave' as const, 'abort' as const), which: fc.nat(99) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('wait' as const), ms: fc.nat(700) }) },
)

test('whatever happens in whatever order, limits hold, nobody overtakes, no place is lost', async () => {
  const limits = { running: 5, runningPerModel: 3, waitingPerModel: 4, waitMs: 1000 }
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
      const { room, clock } = aRoom(limits)
      const asked: { model: string; client: AbortController; leave?: () => void; isOver: boolean }[] = []
      for (const one of steps) {
        if (one.does === 'enter') {
          const entry: (typeof asked)[number] = { model: one.model, client: new AbortController(), isOver: false }
          asked.push(entry)
          const settled = room.enter(one.model, entry.client.signal)
          settled.then((leave) => (entry.leave = leave)).catch(() => (entry.isOver = true))
        } else if (one.does === 'wait') await clock.advance(one.ms)
        else {
          const entry = asked[one.which % Math.max(1, asked.length)]
          if (one.does === 'abort') entry?.client.abort()
          else if (entry?.leave) {
            entry.leave()
            entry.isOver = true
          }
        }
        await clock.advance(0)
        let running = 0
        for (const model of ['a', 'b']) {
          const alive = asked.filter((entry) => entry.model === model && !entry.isOver)
          const inside = alive.filter((entry) => entry.leave)
          running += inside.length
          expect(room.countsOf(model)).toEqual({ running: inside.length, waiting: alive.length - inside.length })
          expect(inside.length).toBeLessThanOrEqual(limits.runningPerModel)
          expect(alive.length - inside.length).toBeLessThanOrEqual(limits.waitingPerModel)
          // Waiting requests came after all running ones.
          const firstWaiting = alive.findIndex((entry) => !entry.leave)
          if (firstWaiting !== -1) expect(alive.slice(firstWaiting).some((entry) => entry.leave)).toBe(false)
        }
        expect(room.running).toBe(running)
        expect(running).toBeLessThanOrEqual(limits.running)
      }
      for (const entry of asked) entry.client.abort()
      await clock.advance(0)
      for (const entry of asked) entry.leave?.()
      expect([room.running, room.countsOf('a'), room.countsOf('b')]).toEqual([
        0,
        { running: 0, waiting: 0 },
        { running: 0, waiting: 0 },
      ])
    }),
  )
})
