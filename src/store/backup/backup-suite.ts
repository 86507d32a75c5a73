import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock as clock } from '../../platform/run/clock.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { failureOf, type CreateStore } from '../contract/contract.ts'
import { openDatabase, openDriver, type Target } from '../database.ts'
import type { Database } from '../sql.ts'
import type { Driver } from '../driver/driver.ts'
import { acquireLease } from '../nouns/leases.ts'
import { findMigrations, loadMigrations } from '../migrate/migration-files.ts'
import { listModels } from '../nouns/models.ts'
import { listNodes } from '../nouns/nodes.ts'
import { listRules } from '../nouns/rules.ts'
import type { BackupHeader } from './format.ts'
import { restoreBackup, type RestoreOptions } from './restore.ts'
import { stageBackup } from './stage.ts'
import { fillStore, writeMigrations } from '../../../test/support/store/filled-store.ts'
import { writeBackup } from './write-backup.ts'
import { writeFile } from './write-file.ts'

const migrations = findMigrations()

/** A backup of one kind of store, put into another. */
export function describeCopy(from: CreateStore, to: CreateStore): void {
  test('everything that cannot be found again comes over as it was', async () => {
    const [source, target] = [await create(from), await create(to)]
    await withDatabase(source, fillStore)
    const { file, header } = await exportOf(source)
    // A table that stays empty here would not be tested.
    expect(Object.entries(header.rows).filter(([, count]) => count === 0)).toEqual([])
    expect(header).toMatchObject({ schema: loadMigrations(migrations).length, rows: { events: 1201 } })
    await importInto(target, file)
    const again = await exportOf(target)
    expect(again.header.rows).toEqual(header.rows)
    expect(rowsIn(again.file)).toEqual(rowsIn(file))
    await withDatabase(target, async (db) => {
      for (const table of ['sessions', 'sign_in_codes', 'demands', 'leases']) {
        expect(await db.query(`select count(*) as count from ${table}`)).toEqual([{ count: 0 }])
      }
    })
  })
}

/** What holds whatever the other store is. */
export function describeBackup(make: CreateStore): void {
  test('a backup is one state of the store, whatever is written while it is made', async () => {
    const [source, target] = [await create(make), await create(make)]
    const file = join(tempFolder(), 'backup.jsonl')
    await withDatabase(source, async (db) => {
      await fillStore(db)
      await withDriver(source, (driver) =>
        writeBackup(driver, { migrations, program: 'test', nowMs: 1 }, async (text) => {
          const seen: string[] = []
          for await (const part of text) {
            // Before the tables were read: what goes now was there when it began.
            if (seen.length < 2)
              await db.transaction((tx) => tx.query(`delete from events where id = (select max(id) from events)`))
            if (seen.length === 0) await db.transaction((tx) => tx.query(`delete from models`))
            seen.push(part)
          }
          await writeFile(file, partsOf(seen), false)
        }),
      )
    })
    await importInto(target, file)
    await withDatabase(target, async (db) => {
      expect(await listModels(db)).toHaveLength(2)
      expect(await db.query('select count(*) as count from events')).toEqual([{ count: 1201 }])
    })
  })

  test('a backup of an older schema is brought up to date', async () => {
    const [source, target] = [await create(make), await create(make)]
    const old = await openDatabase(source, {
      migrations: writeMigrations(tempFolder(), loadMigrations(migrations).slice(0, 3)),
    })
    await old.transaction(async (tx) => {
      await tx.query(`insert into nodes (id, name, public_key, node_type, address, version, boot_id, liveness_since,
          registered_at) values ('n1', 'thor', 'U1', 'backend', 'thor:1', '1', 'boot1', 1, 1)`)
      await tx.query(`insert into rules (model_name, min_replicas, updated_at) values ('m', 2, 3)`)
    })
    await old.close()
    const { file, header } = await exportOf(source)
    expect(header.schema).toBe(3)
    await importInto(target, file)
    await withDatabase(target, async (db) => {
      expect(await listNodes(db)).toMatchObject([{ name: 'thor' }])
      expect(await listRules(db)).toMatchObject([{ min_replicas: 2, route_policy: 'least_loaded', source: 'api' }])
    })
  })

  test('a store with anything in it is refused, and replaced only when what was there has been kept', async () => {
    const [source, target] = [await create(make), await create(make)]
    await withDatabase(source, fillStore)
    const { file } = await exportOf(source)
    await withDatabase(target, (db) =>
      db.transaction(async (tx) => {
        await tx.query(`insert into rules (model_name, updated_at) values ('theirs', 1)`)
        await tx.query(`insert into sessions values ('s', 'h', 'admin', null, 1, 1)`)
      }),
    )
    const failure = await failureOf(importInto(target, file))
    expect(failure.message).toMatch(/is not empty: there is a row in "rules".*--replace/)
    const rules = (): Promise<unknown> =>
      withDatabase(target, async (db) => (await listRules(db)).map((rule) => rule.model_name))
    expect(await rules()).toEqual(['theirs'])
    expect(
      (await failureOf(importInto(target, file, { keep: () => Promise.reject(new Error('disk full')) }))).message,
    ).toBe('disk full')
    expect(await rules()).toEqual(['theirs'])
    let kept: unknown
    await importInto(target, file, { keep: async () => void (kept = await rules()) })
    expect(kept).toEqual(['theirs'])
    expect(rowsIn((await exportOf(target)).file)).toEqual(rowsIn(file))
    await withDatabase(target, async (db) => expect(await db.query('select id from sessions')).toEqual([]))
  })

  test('when the store refuses a row, nothing of the backup is in it', async () => {
    const [source, target] = [await create(make), await create(make)]
    await withDatabase(source, fillStore)
    const { file } = await exportOf(source)
    await (await openDatabase(target)).close()
    await withDriver(target, (driver) =>
      driver.transaction((tx) => tx.script('create unique index one_event on events (actor)'), 10_000),
    )
    expect(await failureOf(importInto(target, file))).toMatchObject({ code: 'conflict' })
    await withDatabase(target, async (db) => {
      for (const table of ['nodes', 'models', 'events'])
        expect(await db.query(`select count(*) as count from ${table}`)).toEqual([{ count: 0 }])
    })
  })

  test('while a frontend leads it is refused, unless --while-running is given; then the leader is fenced off', async () => {
    const [source, target] = [await create(make), await create(make)]
    await withDatabase(source, fillStore)
    const { file } = await exportOf(source)
    const db = await openDatabase(target)
    onTestFinished(() => db.close())
    expect(await acquireLease(db, { name: 'leader', owner: 'a', ttlMs: 60_000 })).toEqual({ epoch: 1 })
    const failure = await failureOf(importInto(target, file, { refuseRunning: true }))
    expect(failure.message).toMatch(/A frontend runs on the database.*--while-running/)
    await importInto(target, file)
    expect(await db.query('select owner, epoch, expires_at from leases')).toEqual([
      { owner: '', epoch: 2, expires_at: 0 },
    ])
    expect(await acquireLease(db, { name: 'leader', owner: 'a', ttlMs: 60_000 })).toEqual({ epoch: 3 })
  })
}

async function create(make: CreateStore): Promise<Target> {
  const store = await make()
  onTestFinished(() => store.drop())
  return store.target
}

async function exportOf(target: Target): Promise<{ file: string; header: BackupHeader }> {
  const file = join(tempFolder(), 'backup.jsonl')
  const header = await withDriver(target, (driver) =>
    writeBackup(driver, { migrations, program: 'test', nowMs: 1 }, (text) => writeFile(file, text, false)),
  )
  return { file, header }
}

async function importInto(target: Target, file: string, options: Partial<RestoreOptions> = {}): Promise<void> {
  const staged = await stageBackup(file, migrations)
  try {
    await withDriver(target, (driver) =>
      restoreBackup(driver, staged, { migrations, clock, refuseRunning: false, ...options }),
    )
  } finally {
    staged.dispose()
  }
}

/** The rows of a backup; stores may sort them differently. */
function rowsIn(file: string): string[] {
  return readFileSync(file, 'utf8').trim().split('\n').slice(1, -1).toSorted()
}

async function* partsOf(parts: readonly string[]): AsyncGenerator<string> {
  yield* parts
}

async function withDatabase<T>(target: Target, work: (db: Database) => Promise<T>): Promise<T> {
  const db = await openDatabase(target)
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

async function withDriver<T>(target: Target, work: (driver: Driver) => Promise<T>): Promise<T> {
  const driver = await openDriver(target)
  try {
    return await work(driver)
  } finally {
    await driver.end()
  }
}
