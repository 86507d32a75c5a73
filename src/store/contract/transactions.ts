import { beforeEach, describe, expect, test } from 'vitest'
import { failureOf, setUpWorkbench, type ContractStore } from './contract.ts'
import type { Database, Sql } from '../sql.ts'

const COUNTERS = 'create table counters (name text primary key, value bigint not null)'

export function describeTransactions(create: () => Promise<ContractStore>): void {
  describe('transactions', () => {
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

    test('answers with what the work answers, and keeps what it wrote', async () => {
      expect(await db.transaction(async (tx) => (await insert(tx, 'a')).length)).toBe(0)
      expect(await names()).toEqual(['a'])
    })

    test('what throws leaves nothing behind, and the error is the one thrown', async () => {
      const thrown = new Error('on purpose')
      const failure = await failureOf(
        db.transaction(async (tx) => {
          await insert(tx, 'a')
          throw thrown
        }),
      )
      expect(failure).toBe(thrown)
      expect(await names()).toEqual([])
      await db.transaction((tx) => insert(tx, 'b'))
      expect(await names()).toEqual(['b'])
    })

    test('a statement that fails ends the transaction, even if its failure is caught', async () => {
      const failure = await failureOf(
        db.transaction(async (tx) => {
          await insert(tx, 'a')
          await insert(tx, 'a').catch(() => {})
          await insert(tx, 'b').catch(() => {})
        }),
      )
      expect(failure).toMatchObject({ constraint: 'unique' })
      expect(await names()).toEqual([])
    })

    test('statements sent together run in their order, also those that were not awaited', async () => {
      await db.transaction(async (tx) => {
        await Promise.all([insert(tx, 'a'), tx.query(`update counters set value = 7 where name = 'a'`)])
        void insert(tx, 'b')
      })
      expect(await db.query('select name, value from counters order by name')).toEqual([
        { name: 'a', value: 7 },
        { name: 'b', value: 0 },
      ])
    })

    test('a failure that was not awaited still undoes the transaction', async () => {
      const work = async (tx: Sql) => {
        await insert(tx, 'a')
        insert(tx, 'a').catch(() => {})
      }
      expect(await failureOf(db.transaction(work))).toMatchObject({ constraint: 'unique' })
      expect(await names()).toEqual([])
    })

    test('a statement after the end is refused', async () => {
      let kept: Sql | undefined
      await db.transaction(async (tx) => {
        kept = tx
      })
      await expect(kept?.query('select 1 as one')).rejects.toThrow(/after its transaction had ended/)
    })

    test('a transaction, a read or a close inside a transaction is refused at once', async () => {
      for (const call of [() => db.transaction(async () => 1), () => db.query('select 1 as one'), () => db.close()]) {
        await expect(db.transaction(async () => call())).rejects.toThrow(/inside a transaction/)
      }
      // What a transaction has started may use the store after it has ended.
      let later: Promise<unknown> | undefined
      const ended = Promise.withResolvers<void>()
      await db.transaction(async () => {
        later = ended.promise.then(() => db.transaction((tx) => insert(tx, 'later')))
      })
      ended.resolve()
      await later
      expect(await names()).toEqual(['later'])
    })

    test('no update is lost', async () => {
      const other = await bench.open({ migrations })
      await db.transaction((tx) => insert(tx, 'hits'))
      const increment = (handle: Database) =>
        handle.transaction(async (tx) => {
          const [row] = await tx.query<{ value: number }>(`select value from counters where name = 'hits'`)
          await tx.query(`update counters set value = $1 where name = 'hits'`, [(row?.value ?? 0) + 1])
        })
      await Promise.all(Array.from({ length: 60 }, (_, i) => increment(i % 2 === 0 ? db : other)))
      expect(await db.query('select value from counters')).toEqual([{ value: 60 }])
    })

    test('write skew is impossible', async () => {
      const other = await bench.open({ migrations })
      await db.transaction((tx) => Promise.all([insert(tx, 'left'), insert(tx, 'right')]))
      /** Each may stop being on call only while the other is: with mere snapshots both would stop at once. */
      const stop = (handle: Database, name: string) =>
        handle.transaction(async (tx) => {
          const [row] = await tx.query<{ on_call: number }>('select count(*) as on_call from counters where value = 1')
          if (row?.on_call === 2) await tx.query('update counters set value = 0 where name = $1', [name])
        })
      for (let round = 0; round < 30; round += 1) {
        await db.transaction((tx) => tx.query('update counters set value = 1'))
        await Promise.all([stop(db, 'left'), stop(other, 'right')])
        expect(await db.query('select sum(value) as on_call from counters')).toEqual([{ on_call: 1 }])
      }
    })

    test('two that insert after looking insert once', async () => {
      const other = await bench.open({ migrations })
      const ensure = (handle: Database, name: string) =>
        handle.transaction(async (tx) => {
          const found = await tx.query('select name from counters where name = $1', [name])
          if (found.length > 0) return 'found'
          await insert(tx, name)
          return 'made'
        })
      for (let round = 0; round < 20; round += 1) {
        const outcomes = await Promise.all([ensure(db, `n${round}`), ensure(other, `n${round}`)])
        expect(outcomes.toSorted()).toEqual(['found', 'made'])
      }
    })

    test('close() finishes what was asked for before, and refuses what comes after', async () => {
      const closing = await bench.open({ migrations })
      const writes = Array.from({ length: 20 }, (_, i) => closing.transaction((tx) => insert(tx, `n${i}`)))
      const reads = Array.from({ length: 20 }, () => closing.query('select 1 as one'))
      const closed = closing.close()
      await expect(closing.query('select 1 as one')).rejects.toMatchObject({ code: 'unavailable' })
      await expect(closing.transaction((tx) => insert(tx, 'late'))).rejects.toMatchObject({ code: 'unavailable' })
      await Promise.all([...writes, ...reads, closed])
      expect(await names()).toHaveLength(20)
      await closing.close()
    })
  })
}
