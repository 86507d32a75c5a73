import { expect, test } from 'vitest'
import { AppError } from '../../platform/errors.ts'
import { silentLogger } from '../../platform/run/log.ts'
import { LeaseLostError } from '../../store/nouns/leases.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { Conditions } from './conditions.ts'
import { StoreWatch } from './store-watch.ts'

function aWatch() {
  const clock = new VirtualClock()
  const conditions = new Conditions(silentLogger)
  const watch = new StoreWatch(conditions, clock)
  return { clock, watch, texts: () => conditions.problems().map(({ kind, text }) => `${kind}: ${text}`) }
}

const FULL = new AppError('unavailable', 'Cannot use the database /data/flotilla.db: the disk is full.')

test('turns that fail for a second are a problem with the reason of the store, until one succeeds', async () => {
  const { clock, watch, texts } = aWatch()
  watch.turnFailed(FULL)
  expect(texts()).toEqual([])
  await clock.advance(1000)
  watch.turnFailed(FULL)
  expect(texts()).toEqual([`store: Control can place, replace and stop nothing: ${FULL.message}`])
  watch.turnEnded()
  expect(texts()).toEqual([])
})

test('a lease that is lost again and again is a problem, until it has stayed for two minutes', async () => {
  const { clock, watch, texts } = aWatch()
  for (let i = 0; i < 2; i += 1) {
    watch.turnFailed(leaseLost())
    await clock.advance(10_000)
    watch.turnEnded()
  }
  expect(texts()).toEqual([])
  watch.turnFailed(leaseLost())
  expect(texts()).toEqual([expect.stringContaining('store: This frontend loses the lead again and again')])
  await clock.advance(120_001)
  watch.turnEnded()
  expect(texts()).toEqual([])
})

function leaseLost(): LeaseLostError {
  return Object.create(LeaseLostError.prototype) as LeaseLostError
}
