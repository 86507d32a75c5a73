import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { PostgresProxy } from '../../../test/support/postgres/postgres-proxy.ts'
import { createTestDatabase, type TestDatabase } from '../../../test/support/postgres/postgres.ts'
import { failureOf } from '../contract/contract.ts'
import { openDatabase } from '../database.ts'
import type { Database, Sql } from '../sql.ts'

/** Pauses take no time. */
const hurried = {
  nowMs: () => Date.now(),
  after(delayMs: number, callback: () => void) {
    const timer = delayMs < 10_000 ? setImmediate(callback) : undefined
    return () => clearImmediate(timer)
  },
}

const insertRule = (tx: Sql, model: string) =>
  tx.query('insert into rules (model_name, updated_at) values ($1, 1)', [model])

describe('PostgreSQL that goes away', () => {
  let database: TestDatabase
  let proxy: PostgresProxy
  let db: Database

  beforeEach(async () => {
    database = await createTestDatabase()
    proxy = await PostgresProxy.start(database.url)
    db = await openDatabase({ url: proxy.url }, { clock: hurried })
  })
  afterEach(async () => {
    await db.close()
    await proxy.stop()
    await database.drop()
  })
  const models = async () => (await database.run('select model_name from rules')).map((row) => row['model_name'])
  const killSessions = () =>
    database.run(`select pg_terminate_backend(pid) from pg_stat_activity
                  where datname = current_database() and application_name = 'flotilla'`)

  test('between calls is not noticed', async () => {
    for (let round = 0; round < 5; round += 1) {
      await db.transaction((tx) => insertRule(tx, `m${round}`))
      await killSessions()
      expect(await db.query('select 1 as one')).toEqual([{ one: 1 }])
    }
    await db.transaction((tx) => insertRule(tx, 'last'))
    expect(await models()).toHaveLength(6)
  })

  test('inside a transaction makes it run again, and happen once', async () => {
    let runs = 0
    await db.transaction(async (tx) => {
      runs += 1
      await insertRule(tx, 'a')
      if (runs === 1) await killSessions()
      await insertRule(tx, 'b')
    })
    expect(runs).toBe(2)
    expect(await models()).toEqual(['a', 'b'])
  })

  test.each(['before', 'after'] as const)('%s a statement arrives makes the transaction run again', async (when) => {
    let runs = 0
    proxy.cutAt({ text: 'insert into rules', when })
    await db.transaction((tx) => {
      runs += 1
      return insertRule(tx, 'a')
    })
    expect(runs).toBe(2)
    expect(await models()).toEqual(['a'])
  })

  test('never lets the rest of a transaction run outside of it', async () => {
    let runs = 0
    const failure = await failureOf(
      db.transaction(async (tx) => {
        runs += 1
        await killSessions()
        // Caught on purpose: the next statement must not find a new connection and succeed on it.
        await tx.query('select 1 as one').catch(() => {})
        await insertRule(tx, `run${runs}`).catch(() => {})
        if (runs > 1) throw new Error('given up')
      }),
    )
    expect(failure.message).toMatch(/given up|Cannot reach/)
    expect(await models()).toEqual([])
  })

  test.each([
    ['before', []],
    ['after', ['a']],
  ] as const)('%s a commit arrives is reported as unknown, and not repeated', async (when, made) => {
    let runs = 0
    // A new connection sends the word itself, an old one the name of the prepared statement.
    await killSessions()
    proxy.cutAt({ text: 'commit', when })
    const failure = await failureOf(
      db.transaction(async (tx) => {
        runs += 1
        await insertRule(tx, 'a')
      }),
    )
    expect(failure).toMatchObject({ code: 'unavailable' })
    expect(failure.message).toMatch(/may or may not have been made/)
    expect(runs).toBe(1)
    expect(await models()).toEqual(made)
    await db.transaction((tx) => insertRule(tx, 'b'))
    expect(await models()).toContain('b')
  })

  test('for good fails reads and transactions in a bounded number of tries', async () => {
    await proxy.stop()
    const { host } = new URL(proxy.url)
    for (const call of [db.query('select 1 as one'), db.transaction((tx) => insertRule(tx, 'a'))]) {
      const failure = await failureOf(call)
      expect(failure).toMatchObject({ code: 'unavailable' })
      expect(failure.message).toContain(`Cannot reach PostgreSQL at ${host}`)
    }
  })
})

describe('PostgreSQL', () => {
  let database: TestDatabase

  beforeEach(async () => {
    database = await createTestDatabase()
  })
  afterEach(() => database.drop())

  test('that is not there fails the start with its address, never with the password', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    const url = `postgres://somebody:hunter2@127.0.0.1:${port}/flotilla`
    const failure = await failureOf(openDatabase({ url }, { clock: hurried }))
    expect(failure).toMatchObject({ code: 'unavailable' })
    expect(failure.message).toContain(`Cannot reach PostgreSQL at 127.0.0.1:${port}`)
    expect(inspect(failure, { depth: 10, showHidden: true })).not.toContain('hunter2')
  })

  test('that refuses the login fails the start at once, never with the password', async () => {
    const url = new URL(database.url)
    url.password = 'hunter2'
    const failure = await failureOf(openDatabase({ url: url.href }))
    expect(failure).toMatchObject({ code: 'usage', message: expect.stringContaining('password authentication failed') })
    expect(inspect(failure, { depth: 10, showHidden: true })).not.toContain('hunter2')
  })

  test('that was emptied under a frontend says that it has no tables, and nothing of statements', async () => {
    const db = await openDatabase({ url: database.url })
    await database.run('drop table events')
    const failure = await failureOf(db.query('select id from events'))
    expect(failure).toMatchObject({ code: 'unavailable', message: expect.stringContaining('another database?') })
    expect(failure.message).not.toContain('select')
    await db.close()
  })

  test('without that database fails the start at once', async () => {
    const url = new URL(database.url)
    url.pathname = '/nothing_of_the_kind'
    const failure = await failureOf(openDatabase({ url: url.href }))
    expect(failure).toMatchObject({ code: 'usage', message: expect.stringContaining('does not exist') })
  })

  test('runs a transaction again when it met another, and both happen in some order', async () => {
    const db = await openDatabase({ url: database.url })
    await database.run(`insert into rules (model_name, min_replicas, updated_at) values ('a', 1, 0), ('b', 1, 0)`)
    let runs = 0
    const bothHaveLooked = Promise.withResolvers<void>()
    const stop = (name: string) =>
      db.transaction(async (tx) => {
        const [row] = await tx.query<{ sum: number }>('select sum(min_replicas) as sum from rules')
        runs += 1
        if (runs === 2) bothHaveLooked.resolve()
        await bothHaveLooked.promise
        if (row?.sum === 2) await tx.query('update rules set min_replicas = 0 where model_name = $1', [name])
      })
    await Promise.all([stop('a'), stop('b')])
    expect(runs).toBe(3)
    expect(await db.query('select sum(min_replicas) as sum from rules')).toEqual([{ sum: 1 }])
    await db.close()
  })

  test('does not open more than ten connections, however much is asked', async () => {
    const db = await openDatabase({ url: database.url })
    await Promise.all([
      ...Array.from({ length: 50 }, (_, i) => db.transaction((tx) => insertRule(tx, `m${i}`))),
      ...Array.from({ length: 50 }, () => db.query('select 1 as one')),
    ])
    const [row] = await database.run(
      `select cast(count(*) as integer) as count from pg_stat_activity
       where datname = current_database() and application_name = 'flotilla'`,
    )
    expect(row?.['count']).toBeLessThanOrEqual(10)
    await db.close()
  })

  test('goes on after another program has changed a table', async () => {
    const db = await openDatabase({ url: database.url })
    const select = 'select * from rules'
    await db.query(select)
    await db.transaction((tx) => tx.query(select))
    await database.run('alter table rules add column colour text')
    expect(await db.query(select)).toEqual([])
    expect(await db.transaction((tx) => tx.query(select))).toEqual([])
    await db.close()
  })

  test('needs no right to change the schema once it is up to date', async () => {
    await (await openDatabase({ url: database.url })).close()
    const role = `reader_${new URL(database.url).pathname.slice(-6)}`
    await database.run(`create role ${role} login password 'pw'`)
    await database.run(`grant select, insert, update, delete on all tables in schema public to ${role}`)
    const url = new URL(database.url)
    url.username = role
    url.password = 'pw'
    const db = await openDatabase({ url: url.href })
    await db.transaction((tx) => insertRule(tx, 'a'))
    expect(await db.query('select model_name from rules')).toEqual([{ model_name: 'a' }])
    await db.close()
    await database.run(`drop owned by ${role}`)
    await database.run(`drop role ${role}`)
  })
})

test('a server that takes no writes is told as such, and not as a mistake of ours', async () => {
  const database = await createTestDatabase()
  const db = await openDatabase({ url: database.url })
  const name = new URL(database.url).pathname.slice(1)
  await database.run(`alter database ${name} set default_transaction_read_only = on`)
  await database.run(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'flotilla'`)
  const failure = await failureOf(db.transaction((tx) => insertRule(tx, 'm')))
  expect(failure).toMatchObject({ code: 'unavailable' })
  expect(failure.message).toMatch(/^PostgreSQL at \S+ is read-only: a standby\?/)
  expect(await db.query('select 1 as one')).toEqual([{ one: 1 }])
  await db.close()
  await database.drop()
})
