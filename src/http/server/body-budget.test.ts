import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BodyBudget, defaultBodyMemory, type BodyRoom } from './body-budget.ts'
import type { AppError } from '../../platform/errors.ts'

function refusalOf(room: BodyRoom): { error: AppError | undefined } {
  const seen: { error: AppError | undefined } = { error: undefined }
  room.onRefused = (error) => (seen.error = error)
  return seen
}

describe('the memory for bodies', () => {
  test('is a quarter of what the process may have, and at most 256 MiB', () => {
    expect(defaultBodyMemory()).toBeGreaterThan(0)
    expect(defaultBodyMemory()).toBeLessThanOrEqual(256 * 1024 * 1024)
    expect(defaultBodyMemory(1e9)).toBeLessThan(1e6)
  })

  test('counts what has arrived, not what is announced', () => {
    const budget = new BodyBudget(1000)
    const rooms = Array.from({ length: 100 }, (_, i) => budget.open(`client ${i}`))
    for (const room of rooms) room.announce(500)
    for (const room of rooms) room.grow(5)
    expect(budget.heldBytes).toBe(500)
  })

  test('is given back when a request has ended, once', () => {
    const budget = new BodyBudget(1000)
    const room = budget.open('a')
    room.grow(300)
    room.settle()
    expect(budget.heldBytes).toBe(300)
    room.release()
    room.release()
    expect(budget.heldBytes).toBe(0)
  })

  test('when it is full, the largest body of the client that holds most is given up for one of another', () => {
    const budget = new BodyBudget(1000)
    const rooms = [100, 250, 150].map((bytes) => {
      const room = budget.open('greedy')
      room.grow(bytes)
      return { room, seen: refusalOf(room) }
    })
    budget.open('other').grow(400)
    // The largest of all is that of the other, whose client holds less.
    budget.open('small').grow(150)
    expect(rooms.map(({ seen }) => seen.error?.code)).toEqual([undefined, 'unavailable', undefined])
    expect(rooms[1]!.seen.error).toMatchObject({ status: 503, retryAfterS: 5 })
    expect(budget.heldBytes).toBe(100 + 150 + 400 + 150)
  })

  test('a body that is whole is kept, and the one that wants to grow is refused', () => {
    const budget = new BodyBudget(1000)
    for (const client of ['a', 'b']) {
      const room = budget.open(client)
      room.grow(500)
      room.settle()
      refusalOf(room)
    }
    const late = budget.open('late')
    expect(() => late.grow(1)).toThrow(/Try again in 5 s, or start Flotilla with more --body-memory/)
    expect(budget.heldBytes).toBe(1000)
  })

  test('one client has half of it, and its own largest body is given up for more', () => {
    const budget = new BodyBudget(1000)
    const [first, second] = [budget.open('a'), budget.open('a')]
    first.grow(300)
    second.grow(200)
    const seen = refusalOf(first)
    second.grow(50)
    expect(seen.error?.code).toBe('unavailable')
    expect(budget.heldBytes).toBe(250)
    expect(() => second.announce(501)).toThrow(/larger than the body memory of one client/)
    expect(() => second.grow(400)).toThrow(/larger than/)
  })

  test('whatever clients send, what is held is never more than there is, and all of it comes back', () => {
    const step = fc.record({ client: fc.nat(3), body: fc.nat(9), bytes: fc.nat(400), end: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const budget = new BodyBudget(1000)
        const open = new Map<string, BodyRoom>()
        for (const { client, body, bytes, end } of steps) {
          const key = `${client}/${body}`
          let room = open.get(key)
          if (!room) {
            room = budget.open(`client ${client}`)
            room.onRefused = () => open.delete(key)
            open.set(key, room)
          }
          try {
            room.grow(bytes)
            if (end) room.settle()
          } catch {
            room.release()
            open.delete(key)
          }
          expect(budget.heldBytes).toBeLessThanOrEqual(1000)
          expect(budget.heldBytes).toBe([...open.values()].reduce((sum, one) => sum + one.bytes, 0))
        }
        for (const room of open.values()) room.release()
        expect(budget.heldBytes).toBe(0)
      }),
    )
  })
})
