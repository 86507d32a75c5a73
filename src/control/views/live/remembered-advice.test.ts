import { expect, test } from 'vitest'
import { aBigModel, aGpuNode, gpu } from '../../../core/placement/scene-suite.ts'
import type { StoredWorld } from '../../../store/world/world.ts'
import { aWorld } from '../../../../test/support/builders.ts'
import { RememberedAdvice } from './remembered-advice.ts'

const small = aGpuNode([gpu(0, 8)], { id: 't', name: 'thor' })
const none = aGpuNode([gpu(0, 8)], { id: 't', name: 'thor', approved: false })
const models = Array.from({ length: 10 }, (_, i) => aBigModel(20, { name: `m${i}` }))
const aStoredWorld = (nodes = [small]): StoredWorld => aWorld({ nodes, models }) as StoredWorld

/** A clock on which each look at the time takes so long. */
function aScene(tickMs: number) {
  const clock = { now: 0, tickMs, nowMs: () => (clock.now += clock.tickMs), after: () => () => {} }
  const advice = new RememberedAdvice('spread', clock)
  const look = (world = aStoredWorld(), names = models.map(({ name }) => name)) => {
    advice.begin(world)
    return names.map((name) => advice.advise(world, name))
  }
  return { clock, look }
}

test('what would help is known at once where that takes no time', () => {
  const { look } = aScene(0)
  expect(look().every((text) => text?.includes('VRAM'))).toBe(true)
  expect(look(aStoredWorld(), ['nothing'])).toEqual([null])
})

test('it is remembered for ten seconds, and then found out anew', () => {
  const { clock, look } = aScene(0)
  const before = look()
  expect(look(aStoredWorld([none]))).toEqual(before)
  clock.now += 10_000
  expect(look(aStoredWorld([none]))).not.toEqual(before)
})

test('where it takes long, a look finds out some of it, and all is known after a few', () => {
  const { look } = aScene(1)
  const known = (texts: readonly (string | null)[]): number => texts.filter((text) => text !== null).length
  const first = known(look())
  expect(first).toBeGreaterThan(0)
  expect(first).toBeLessThan(10)
  for (let i = 0; i < 10; i += 1) look()
  expect(known(look())).toBe(10)
})

test('what is no longer asked for is forgotten', () => {
  const { look } = aScene(0)
  const [before] = look()
  look(aStoredWorld([none]), [])
  look(aStoredWorld([none]), [])
  expect(look(aStoredWorld([none]))[0]).not.toBe(before)
})
