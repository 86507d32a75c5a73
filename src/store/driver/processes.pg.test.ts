import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/support/postgres/postgres.ts'
import { runScript, startScript } from '../../../test/support/run-process.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import { openDatabase } from '../database.ts'

describe('several processes on one PostgreSQL', () => {
  let database: TestDatabase

  beforeEach(async () => {
    database = await createTestDatabase()
  })
  afterEach(() => database.drop())
  const runAll = (task: string, argumentsOf: readonly string[]) =>
    Promise.all(argumentsOf.map((argument) => runScript('store/store-process.ts', [task, database.url, argument])))

  test('that start together on an empty database migrate it once', async () => {
    const counts = await runAll('open', ['', '', '', '', '', ''])
    const rows = await database.run('select version from schema_migrations')
    expect(rows.length).toBeGreaterThan(0)
    expect(counts).toEqual(counts.map(() => [String(rows.length)]))
  })

  test('of which one is killed while it migrates: the store is as it was', async () => {
    const migrations = tempFolder()
    writeFileSync(join(migrations, '0001_a.sql'), 'create table a (id text primary key);')
    await (await openDatabase({ url: database.url }, { migrations })).close()
    writeFileSync(join(migrations, '0002_b.sql'), 'create table b (id text primary key);')
    writeFileSync(join(migrations, '0003_c.sql'), 'create table c (id text primary key); select pg_sleep(600);')
    const child = startScript('store/store-process.ts', ['open', database.url, '', migrations])
    const exited = once(child, 'exit')
    const asleep = `select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
    await until(async () => (await database.run(asleep)).length === 1)
    child.kill('SIGKILL')
    await exited
    // The server would notice once the sleep is over.
    await database.run(`select pg_terminate_backend(pid) from (${asleep}) as asleep`)
    rmSync(join(migrations, '0003_c.sql'))
    rmSync(join(migrations, '0002_b.sql'))
    const db = await openDatabase({ url: database.url }, { migrations })
    expect(await db.query('select version from schema_migrations')).toEqual([{ version: 1 }])
    await expect(db.query('select id from b')).rejects.toThrow(/no tables of Flotilla.*"b" does not exist/)
    await db.close()
  })

  test('lose no update', async () => {
    await database.run('create table hits (value bigint not null)')
    await database.run('insert into hits values (0)')
    await runAll('increment', ['40', '40', '40', '40'])
    expect(await database.run('select value from hits')).toEqual([{ value: '160' }])
  })

  test('claim each thing once', async () => {
    const db = await openDatabase({ url: database.url })
    await db.close()
    await database.run(
      `insert into models (name, engine, revision, created_at, updated_at)
       select 'm' || i, '', '', 0, 0 from generate_series(1, 60) i`,
    )
    const claimed = await runAll('claim', ['a', 'b', 'c', 'd'])
    expect(claimed.flat()).toHaveLength(60)
    expect(new Set(claimed.flat()).size).toBe(60)
  })

  test('have one leader at any moment, and the late writes of the one before are refused', async () => {
    const db = await openDatabase({ url: database.url })
    await db.close()
    await database.run(
      'create table lease_log (position bigint primary key, owner text not null, epoch bigint not null)',
    )
    await runAll('lead', ['a', 'b', 'c', 'd'])
    const log = await database.run('select owner, cast(epoch as integer) as epoch from lease_log order by position')
    const epochs = log.map((row) => Number(row['epoch']))
    // In the order of their commits: an epoch never comes back once a later one has begun.
    expect(epochs).toEqual(epochs.toSorted((a, b) => a - b))
    const ownersOf = Map.groupBy(log, (row) => Number(row['epoch']))
    for (const rows of ownersOf.values()) expect(new Set(rows.map((row) => row['owner'])).size).toBe(1)
    expect(new Set(log.map((row) => row['owner'])).size).toBe(4)
    expect(ownersOf.size).toBeGreaterThanOrEqual(30)
  })
})
