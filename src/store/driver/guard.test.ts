import { expect, test } from 'vitest'
import type { Driver } from './driver.ts'
import { guardDatabase } from './guard.ts'

/** A driver that answers nothing until it is told to. */
function slowDriver(): { driver: Driver; answer: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const driver: Driver = {
    kind: 'sqlite',
    prelude: '',
    findTable: '',
    listColumns: '',
    where: '',
    read: () => promise.then(() => []),
    transaction: () => Promise.reject(new Error('not asked for here')),
    snapshot: () => Promise.reject(new Error('not asked for here')),
    end: async () => {},
  }
  return { driver, answer: resolve }
}

test('the ten thousand and first call is refused at once, and calls go on when others have ended', async () => {
  const { driver, answer } = slowDriver()
  const db = guardDatabase(driver)
  const waiting = Array.from({ length: 10_000 }, () => db.query('select 1 as one'))
  await expect(db.query('select 1 as one')).rejects.toMatchObject({ code: 'busy', retryAfterS: 1 })
  answer()
  await Promise.all(waiting)
  expect(await db.query('select 1 as one')).toEqual([])
})
