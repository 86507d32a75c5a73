import { expect, test } from 'vitest'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { Lifetime } from './lifetime.ts'

function aLifetime() {
  const clock = new VirtualClock()
  const problems: string[] = []
  return {
    clock,
    problems,
    life: new Lifetime(clock, (step, problem) => problems.push(`${step}: ${(problem as Error).message}`)),
  }
}

test('what was started last is stopped first, one after the other', async () => {
  const { life } = aLifetime()
  const order: string[] = []
  life.own('store', () => void order.push('store'))
  life.own('server', async () => {
    await Promise.resolve()
    order.push('server')
  })
  await life.end(1000)
  expect(order).toEqual(['server', 'store'])
})

test('a step that fails is told and does not keep the others from stopping', async () => {
  const { life, problems } = aLifetime()
  let stopped = false
  life.own('store', () => void (stopped = true))
  life.own('bus', () => Promise.reject(new Error('broken pipe')))
  await life.end(1000)
  expect(stopped).toBe(true)
  expect(problems).toEqual(['bus: broken pipe'])
})

test('a step that hangs is given up at the deadline', async () => {
  const { life, clock, problems } = aLifetime()
  let stopped = false
  life.own('store', () => void (stopped = true))
  life.own('bus', () => new Promise(() => {}))
  const ended = life.end(1000)
  await clock.advance(999)
  expect(stopped).toBe(false)
  await clock.advance(1)
  await ended
  expect(stopped).toBe(true)
  expect(problems).toEqual(['bus: did not stop in time'])
})

test('ending twice stops everything once', async () => {
  const { life } = aLifetime()
  let stops = 0
  life.own('store', () => void (stops += 1))
  await Promise.all([life.end(1000), life.end(1000)])
  expect(stops).toBe(1)
})
