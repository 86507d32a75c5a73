import { expect, test } from 'vitest'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { startLoop } from './loop.ts'

function aLoop(turn: () => Promise<void>, periodMs = 1000) {
  const clock = new VirtualClock()
  const errors: unknown[] = []
  const loop = startLoop({ periodMs, turn, clock, onError: (error) => errors.push(error) })
  return { clock, loop, errors }
}

/** A turn that ends when told to. */
function heldTurns() {
  const held: (() => void)[] = []
  let most = 0
  const turn = () =>
    new Promise<void>((resolve) => {
      held.push(resolve)
      most = Math.max(most, held.length)
    })
  return { turn, release: () => held.pop()?.(), started: () => held.length, most: () => most }
}

test('a turn runs at once and then every period', async () => {
  let turns = 0
  const { clock, loop } = aLoop(async () => void (turns += 1))
  await clock.advance(0)
  expect(turns).toBe(1)
  await clock.advance(3000)
  expect(turns).toBe(4)
  await loop.dispose()
})

test('a wake runs a turn without waiting for the period', async () => {
  let turns = 0
  const { clock, loop } = aLoop(async () => void (turns += 1))
  await clock.advance(0)
  loop.wake()
  loop.wake()
  await clock.advance(0)
  expect(turns).toBe(2)
})

test('any number of wakes during a turn make exactly one more turn, and never two at once', async () => {
  const turns = heldTurns()
  const { clock, loop } = aLoop(turns.turn)
  await clock.advance(0)
  for (let i = 0; i < 5; i += 1) loop.wake()
  await clock.advance(10)
  expect(turns.started()).toBe(1)
  turns.release()
  await clock.advance(0)
  expect(turns.started()).toBe(1)
  turns.release()
  await clock.advance(999)
  expect(turns.started()).toBe(0)
  expect(turns.most()).toBe(1)
})

test('a failing turn is told, tried again soon, and later more and more seldom; wakes do not hurry it', async () => {
  let turns = 0
  const { clock, loop, errors } = aLoop(async () => {
    turns += 1
    throw new Error('no')
  })
  await clock.advance(0)
  loop.wake()
  await clock.advance(99)
  expect(turns).toBe(1)
  await clock.advance(1)
  expect(turns).toBe(2)
  await clock.advance(200)
  expect(turns).toBe(3)
  await clock.advance(10_000)
  expect(turns).toBeLessThanOrEqual(3 + 12)
  expect(errors).toHaveLength(turns)
})

test('dispose waits for the running turn, and none follows', async () => {
  const turns = heldTurns()
  const { clock, loop } = aLoop(turns.turn)
  await clock.advance(0)
  let disposed = false
  const disposing = loop.dispose().then(() => (disposed = true))
  loop.wake()
  await clock.advance(5000)
  expect(disposed).toBe(false)
  turns.release()
  await disposing
  await clock.advance(5000)
  expect(turns.started()).toBe(0)
})
