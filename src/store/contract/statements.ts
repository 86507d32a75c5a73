import { beforeEach, describe, expect, test } from 'vitest'
import { failureOf, setUpWorkbench, type ContractStore } from './contract.ts'
import type { Database, Value } from '../sql.ts'
import { ConstraintError } from '../driver/store-errors.ts'

const THINGS = `
  create table things (
    id text primary key,
    amount bigint check (amount <> 13),
    note text,
    parent text references things (id),
    flag integer not null default 0
  );
  create index things_by_amount on things (amount);`

export function describeStatements(create: () => Promise<ContractStore>): void {
  describe('statements', () => {
    const bench = setUpWorkbench(create)
    let db: Database

    beforeEach(async () => {
      db = await bench.open({ migrations: bench.migrations({ '0001_things.sql': THINGS }) })
    })
    const write = (text: string, params?: readonly Value[]) => db.transaction((tx) => tx.query(text, params))

    test('placeholders go by number, in any order and more than once', async () => {
      await write('insert into things (id, note, amount) values ($2, $1, $3)', ['note', 'id', 3])
      const rows = await db.query('select id, amount from things where id = $1 or note = $1 or amount = $2', ['id', 7])
      expect(rows).toEqual([{ id: 'id', amount: 3 }])
    })

    test('a placeholder inside a literal is text', async () => {
      expect(await db.query(`select '$1' as text, cast($1 as bigint) as value`, [5])).toEqual([
        { text: '$1', value: 5 },
      ])
    })

    test.each([
      ['too few', []],
      ['too many', [1, 2]],
    ])('%s parameters are refused', async (_what, params) => {
      await expect(db.query('select id from things where amount = $1', params)).rejects.toThrow(/parameter/)
    })

    test('two statements in one text are refused', async () => {
      await expect(db.query('select 1 as a; select 2 as b')).rejects.toThrow(/multiple commands|more than one/)
    })

    test.each(['begin', 'COMMIT', ' rollback', 'savepoint a', 'set x = 1'])('"%s" is refused', async (text) => {
      await expect(write(text)).rejects.toThrow(/begun and ended by the store/)
      await expect(db.query(text)).rejects.toThrow(/begun and ended by the store/)
    })

    test('null and text of any script come back as they went in', async () => {
      const notes = [null, '', 'naïve 船隊 🚢 ‮', `it's "quoted" \\ ; -- $1`, 'x'.repeat(100_000)]
      for (const [index, note] of notes.entries()) {
        await write('insert into things (id, note) values ($1, $2)', [`${index}`, note])
      }
      const rows = await db.query('select note from things order by id')
      expect(rows).toEqual(notes.map((note) => ({ note })))
    })

    test('text with a NUL character is refused', async () => {
      await expect(write('insert into things (id) values ($1)', ['a\0b'])).rejects.toMatchObject({
        code: 'bad_request',
      })
    })

    test('whole numbers are exact up to the largest safe integer', async () => {
      const amounts = [0, -1, 2 ** 31, 2 ** 40 + 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]
      for (const [index, amount] of amounts.entries()) {
        await write('insert into things (id, amount) values ($1, $2)', [`${index}`, amount])
      }
      expect(await db.query('select amount from things order by id')).toEqual(amounts.map((amount) => ({ amount })))
    })

    test('what a statement is refused once does not cling to it', async () => {
      const insert = 'insert into things (id, amount) values ($1, $2)'
      expect(await failureOf(write(insert, ['a', 13]))).toBeInstanceOf(ConstraintError)
      await write(insert, ['a', 12])
      expect(await failureOf(write(insert, ['a', 12]))).toMatchObject({ constraint: 'unique' })
      await write(insert, ['b', 12])
      expect(await db.query('select id from things order by id')).toEqual([{ id: 'a' }, { id: 'b' }])
    })

    test('a whole number that is not a safe integer is refused, going in and coming out', async () => {
      await expect(write('insert into things (id, amount) values ($1, $2)', ['a', 2 ** 53])).rejects.toThrow(
        /too large/,
      )
      await expect(write('insert into things (id, amount) values ($1, $2)', ['a', NaN])).rejects.toThrow(/NaN/)
      await write(`insert into things (id, amount) values ('a', 9007199254740993)`)
      await expect(db.query('select amount from things')).rejects.toThrow(/too large/)
      await expect(write('select amount from things')).rejects.toThrow(/too large/)
      expect(await db.query('select id from things')).toEqual([{ id: 'a' }])
    })

    test('counts, sums, comparisons and fractions are numbers', async () => {
      await write(`insert into things (id, amount) values ('a', 1), ('b', 2)`)
      const [row] = await db.query(
        'select count(*) as count, sum(amount) as sum, min(amount) = 1 as same, 0.5 as half from things',
      )
      expect(row).toEqual({ count: 2, sum: 3, same: 1, half: 0.5 })
    })

    test('a change answers with the rows it returns, or none', async () => {
      expect(await write(`insert into things (id) values ('a'), ('b')`)).toEqual([])
      expect(await write(`update things set amount = 5 where id = 'a' returning id, amount`)).toEqual([
        { id: 'a', amount: 5 },
      ])
      expect(
        await write(
          `insert into things (id, amount) values ('a', 6)
           on conflict (id) do update set amount = excluded.amount + 1 returning amount`,
        ),
      ).toEqual([{ amount: 7 }])
      expect(await write(`delete from things where id = 'zzz' returning id`)).toEqual([])
    })

    test('rows are plain objects', async () => {
      const rows = await db.query('select 1 as a')
      expect(Array.isArray(rows)).toBe(true)
      expect(Object.getPrototypeOf(rows[0])).toBe(Object.prototype)
    })

    test.each([
      ['unique', `insert into things (id) values ('a')`],
      ['foreign_key', `insert into things (id, parent) values ('b', 'nobody')`],
      ['check', `insert into things (id, amount) values ('b', 13)`],
      ['not_null', `insert into things (id, flag) values ('b', null)`],
    ])('a broken %s constraint is a typed error', async (constraint, text) => {
      await write(`insert into things (id) values ('a')`)
      const failure = await failureOf(write(text))
      expect(failure).toBeInstanceOf(ConstraintError)
      expect(failure).toMatchObject({ constraint })
    })

    test('a wrong statement says which, and does not show its parameters', async () => {
      const failure = await failureOf(db.query('select nothing from things where id = $1', ['secret']))
      expect(failure.message).toContain('select nothing from things')
      expect(failure.message).not.toContain('secret')
    })

    test('writing outside a transaction is refused', async () => {
      for (const text of [`insert into things (id) values ('a')`, 'delete from things', 'drop table things']) {
        await expect(db.query(text)).rejects.toThrow(/nothing may be written/)
      }
      expect(await db.query('select id from things')).toEqual([])
    })

    test('an answer without end is refused, and the store goes on', async () => {
      const endless = `with recursive n (i) as (select 1 union all select i + 1 from n where i < 200001) select i from n`
      await expect(db.query(endless)).rejects.toThrow(/more than 200000 rows/)
      expect(await db.query('select 1 as one')).toEqual([{ one: 1 }])
    })

    test('now_ms() is the time in whole milliseconds', async () => {
      const before = Date.now()
      const [row] = await db.query<{ now: number }>('select now_ms() as now')
      expect(row?.now).toBeGreaterThanOrEqual(before - 1000)
      expect(row?.now).toBeLessThanOrEqual(Date.now() + 1000)
      expect(Number.isInteger(row?.now)).toBe(true)
    })

    test('many different statements do not pile up', async () => {
      for (let i = 0; i < 600; i += 1) expect(await db.query(`select ${i} as i`)).toEqual([{ i }])
      expect(await db.query('select 0 as i')).toEqual([{ i: 0 }])
    })
  })
}
