import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Slots, type Ticket } from './slots.ts'

test('first come, first served, and beyond the queue a refusal', () => {
  const slots = new Slots({ parallel: 1, queueLimit: 2, nowMs: () => 0 })
  const started: string[] = []
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => slots.arrive(() => started.push(name)))
  expect(d).toBeUndefined()
  expect(started).toEqual(['a'])
  if (b) slots.leave(b)
  if (a) slots.leave(a)
  expect(started).toEqual(['a', 'c'])
  expect(c?.state).toBe('running')
})

test('waiting is measured by the clock that was passed in', () => {
  let nowMs = 0
  const slots = new Slots({ parallel: 1, queueLimit: 1, nowMs: () => nowMs })
  const first = slots.arrive(() => {})
  const second = slots.arrive(() => {})
  nowMs = 30
  expect(second?.waitedMs).toBe(30)
  if (first) slots.leave(first)
  nowMs = 50
  expect([first?.waitedMs, second?.waitedMs]).toEqual([0, 30])
})

test('however requests arrive, finish and give up: slots are never overfull, never idle while one waits, and empty in the end', () => {
  const steps = fc.array(fc.oneof(fc.constant('arrive' as const), fc.nat(30)), { maxLength: 200 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.nat(6), steps, (parallel, queueLimit, sequence) => {
      const slots = new Slots({ parallel, queueLimit, nowMs: () => 0 })
      const tickets: Ticket[] = []
      let starts = 0
      for (const step of sequence) {
        const full = slots.inUse === parallel && slots.queued === queueLimit
        const before = tickets.length
        const arrived = step === 'arrive' ? slots.arrive(() => (starts += 1)) : undefined
        if (arrived) tickets.push(arrived)
        expect(tickets.length - before).toBe(step === 'arrive' && !full ? 1 : 0)
        // Also those that have left already: leaving twice must change nothing.
        const leaving = step === 'arrive' ? undefined : tickets[step]
        if (leaving) slots.leave(leaving)
        const count = (state: Ticket['state']): number => tickets.filter((ticket) => ticket.state === state).length
        expect(slots.inUse).toBe(count('running'))
        expect(slots.queued).toBe(count('waiting'))
        expect(slots.inUse).toBeLessThanOrEqual(parallel)
        expect(slots.queued).toBeLessThanOrEqual(queueLimit)
        expect(slots.queued === 0 || slots.inUse === parallel).toBe(true)
      }
      for (const ticket of tickets) slots.leave(ticket)
      expect([slots.inUse, slots.queued]).toEqual([0, 0])
      expect(starts).toBeLessThanOrEqual(tickets.length)
    }),
  )
})
