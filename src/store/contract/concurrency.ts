import { beforeEach, describe, expect, test } from 'vitest'
import { failureOf, setUpWorkbench, type ContractStore } from './contract.ts'
import type { Database, Sql } from '../sql.ts'
import { LIMIT_MS } from '../driver/driver.ts'

const COUNTERS = 'create table counters (name text primary key, value bigint not null)'

/** Of transactions that wait for something else than the store. Those of the simulator never do: one is one event. */
export function describeConcurrency(create: () => Promise<ContractStore>): void {
  describe('transactions that last', () => {
    const bench = setUpWorkbench(create)
    let db: Database
    let migrations: string

    beforeEach(async () => {
      migrations = bench.migrations({ '0001_counters.sql': COUNTERS })
      db = await bench.open({ migrations })
    })
    const insert = (tx: Sql, name: string, value = 0) =>
      tx.query('insert into counters (name, value) values ($1, $2)', [name, value])
    const names = async () =>
      (await db.query<{ name: string }>('select name from counters order by name')).map((r) => r.name)

    test('sees its own writes; others do not until it has ended, and do not wait for it', async () => {
      const wrote = Promise.withResolvers<void>()
      const readByOthers = Promise.withResolvers<void>()
      const done = db.transaction(async (tx) => {
        await insert(tx, 'a')
        expect(await tx.query('select name from counters')).toEqual([{ name: 'a' }])
        wrote.resolve()
        await readByOthers.promise
      })
      await wrote.promise
      expect(await names()).toEqual([])
      readByOthers.resolve()
      await done
      expect(await names()).toEqual(['a'])
    })

    test('a transaction that never ends is undone, and does not hold up the others', async () => {
      const timers: (() => void)[] = []
      const clock = {
        nowMs: () => 0,
        after(delayMs: number, callback: () => void) {
          if (delayMs === LIMIT_MS) timers.push(callback)
          return () => {}
        },
      }
      const limited = await bench.open({ migrations, clock })
      const wrote = Promise.withResolvers<void>()
      const stuck = failureOf(
        limited.transaction(async (tx) => {
          await insert(tx, 'stuck')
          wrote.resolve()
          await new Promise(() => {})
        }),
      )
      await wrote.promise
      const next = limited.transaction((tx) => insert(tx, 'next'))
      timers[0]?.()
      expect(await stuck).toMatchObject({ code: 'timeout' })
      await next
      expect(await names()).toEqual(['next'])
    })
  })
}
