import { once } from 'node:events'
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { runScript, startScript } from '../../../test/support/run-process.ts'
import { until } from '../../../test/support/until.ts'
import { failureOf } from '../contract/contract.ts'
import { openDatabase } from '../database.ts'

describe('the SQLite file', () => {
  let folder: string
  let file: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'flotilla-sqlite-'))
    file = join(folder, 'flotilla.db')
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  test('can be read by its owner only, and so can the files beside it', async () => {
    const db = await openDatabase({ file })
    const names = await readdir(folder)
    expect(names).toContain('flotilla.db-wal')
    for (const name of names) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
    await db.close()
  })

  test('is alone after close: everything has been moved out of the log', async () => {
    const db = await openDatabase({ file })
    await db.transaction((tx) => tx.query(`insert into rules (model_name, updated_at) values ('m', 1)`))
    await db.close()
    expect(await readdir(folder)).toEqual(['flotilla.db'])
  })

  test.each([
    ['is a folder', () => folder, /Cannot open the database/],
    ['is in no folder', () => join(folder, 'none', 'flotilla.db'), /no such file or directory/],
  ])('that %s cannot be opened, and the message says so', async (_what, path, message) => {
    const failure = await failureOf(openDatabase({ file: path() }))
    expect(failure).toMatchObject({ code: 'usage' })
    expect(failure.message).toMatch(message)
    expect(failure.message).toContain(path())
  })

  test('that is something else is left alone', async () => {
    writeFileSync(file, 'a letter to a friend, long enough to be looked at '.repeat(50))
    expect((await failureOf(openDatabase({ file }))).message).toMatch(/not a database/)
  })

  test.each<[string, RegExp, (path: string) => void]>([
    ['has random bytes in it', /is damaged|not a database/, (path) => overwrite(path, 5 * 4096, randomBytes(3 * 4096))],
    ['has another header', /not a database/, (path) => overwrite(path, 0, Buffer.from('SQLite format 4'))],
    ['was cut in half', /is damaged/, (path) => truncateSync(path, 10 * 4096)],
    ['was emptied', /it is empty: what was in it is gone/, (path) => truncateSync(path, 0)],
    ['has an index that says something else', /is damaged \(.*(index|row)/, (path) => alterText(path, 'model-000299')],
  ])('that %s is refused with the way back, and left as it is', async (_what, message, damage) => {
    await fill(file)
    damage(file)
    const before = readFileSync(file)
    const failure = await failureOf(openDatabase({ file }))
    expect(failure).toMatchObject({ code: 'usage' })
    expect(failure.message).toMatch(message)
    expect(failure.message).toMatch(
      /Nothing was changed\. The way back: move flotilla\.db.* flotilla db import <backup>/,
    )
    expect(readFileSync(file).equals(before)).toBe(true)
    expect((await readdir(folder)).filter((name) => !/-(wal|shm)$/.test(name))).toEqual(['flotilla.db'])
  })

  test('that is damaged keeps the log beside it, which may hold what is not in it yet', async () => {
    await fill(file)
    await writeAndKill(file, 'r', 1)
    const log = readFileSync(`${file}-wal`)
    expect(log.length).toBeGreaterThan(0)
    overwrite(file, 5 * 4096, randomBytes(3 * 4096))
    expect((await failureOf(openDatabase({ file }))).message).toMatch(/is damaged/)
    expect(readFileSync(`${file}-wal`).equals(log)).toBe(true)
    rmSync(file)
    expect((await failureOf(openDatabase({ file }))).message).toMatch(/it is gone, and .*-wal, which belongs to it/)
    expect(readFileSync(`${file}-wal`).equals(log)).toBe(true)
  })

  describe('that is brought up to date', () => {
    const A = 'create table a (id text primary key);'
    const copy = (): string => `${file}.schema-1`
    const migrations = (second?: string): string => {
      const path = mkdtempSync(join(folder, 'migrations-'))
      writeFileSync(join(path, '0001_a.sql'), A)
      if (second !== undefined) writeFileSync(join(path, '0002_b.sql'), second)
      return path
    }

    beforeEach(async () => {
      const db = await openDatabase({ file }, { migrations: migrations() })
      await db.transaction((tx) => tx.query(`insert into a values ('kept')`))
      await db.close()
    })

    test('leaves no copy behind', async () => {
      const db = await openDatabase({ file }, { migrations: migrations('create table b (id text);') })
      expect(existsSync(copy())).toBe(false)
      await db.close()
    })

    test('and runs out of disk is as it was, beside a copy that the message names', async () => {
      const full = `pragma max_page_count = 20;
        create table b as with recursive n (i) as (select 1 union all select i + 1 from n where i < 100000) select i from n;`
      const failure = await failureOf(openDatabase({ file }, { migrations: migrations(full) }))
      expect(failure.message).toMatch(/0002_b\.sql failed and was undone: .*the disk is full/)
      expect(failure.message).toContain(`A copy from before it is in ${copy()}.`)
      for (const path of [file, copy()]) {
        const db = await openDatabase({ file: path }, { migrations: migrations() })
        expect(await db.query('select id from a')).toEqual([{ id: 'kept' }])
        await db.close()
      }
      expect(statSync(copy()).mode & 0o777).toBe(0o600)
    })

    test('by a process that is killed is as it was, and can be brought up to date again', async () => {
      const endless = `create table b (id integer);
        insert into b with recursive n (i) as (select 1 union all select i + 1 from n) select i from n;`
      const child = startScript('store/store-process.ts', ['open', file, '', migrations(endless)])
      const exited = once(child, 'exit')
      // Far more than one page of it is written by then.
      await until(() => existsSync(`${file}-wal`) && statSync(`${file}-wal`).size > 2 ** 20)
      child.kill('SIGKILL')
      await exited
      const db = await openDatabase({ file }, { migrations: migrations('create table b (id text);') })
      expect(await db.query('select id from a')).toEqual([{ id: 'kept' }])
      expect(await db.query('select id from b')).toEqual([])
      expect(existsSync(copy())).toBe(false)
      await db.close()
    })

    test('is left alone when no copy of it can be made', async () => {
      mkdirSync(join(copy(), 'in the way'), { recursive: true })
      const failure = await failureOf(openDatabase({ file }, { migrations: migrations('create table b (id text);') }))
      expect(failure.message).toMatch(/is copied to .*schema-1, and that failed: .*Nothing was changed/)
      const db = await openDatabase({ file }, { migrations: migrations() })
      expect(await db.query('select id from a')).toEqual([{ id: 'kept' }])
      await db.close()
    })
  })

  test('loses nothing acknowledged when the process is killed, and stays sound', async () => {
    let acknowledged = 0
    for (let round = 0; round < 8; round += 1) {
      // Killed after a number of acknowledgements that differs each round, in the middle of what comes next.
      const ids = await writeAndKill(file, `r${round}`, 1 + Math.floor(Math.random() * 200))
      acknowledged += ids.length
      const db = await openDatabase({ file })
      const rows = await db.query<{ name: string }>('select name from models')
      const names = new Set(rows.map((row) => row.name))
      expect(ids.filter((id) => !names.has(`${id}-a`))).toEqual([])
      // Transactions are whole: there is never one row of a pair.
      const twin = (name: string) => name.replace(/[ab]$/, (end) => (end === 'a' ? 'b' : 'a'))
      expect([...names].filter((name) => !names.has(twin(name)))).toEqual([])
      await db.close()
      const plain = new DatabaseSync(file)
      expect(plain.prepare('pragma integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
      plain.close()
    }
    expect(acknowledged).toBeGreaterThanOrEqual(8)
  })

  test('may be open in a second process: both see what the other has written', async () => {
    const db = await openDatabase({ file })
    const insert = `insert into models (name, engine, revision, created_at, updated_at) values ($1, '', '', 0, 0)`
    for (let i = 0; i < 40; i += 1) await db.transaction((tx) => tx.query(insert, [`m${i}`]))
    const claims = await Promise.all(
      ['a', 'b'].map((owner) => runScript('store/store-process.ts', ['claim', file, owner])),
    )
    expect(new Set(claims.flat()).size).toBe(40)
    expect(await db.query(`select count(*) as count from models where engine in ('a', 'b')`)).toEqual([{ count: 40 }])
    await db.close()
  })

  test('several processes that make it together migrate it once', async () => {
    const counts = await Promise.all([1, 2, 3, 4].map(() => runScript('store/store-process.ts', ['open', file])))
    expect(new Set(counts.flat()).size).toBe(1)
  })

  test('when its thread dies, calls fail instead of waiting', async () => {
    const db = await openDatabase({ file })
    // An answer that does not fit the memory of the thread.
    const huge = `with recursive n (i) as (select 1 union all select i + 1 from n where i < 90000)
                  select hex(zeroblob(5000)) || i as text from n`
    const calls = [db.query(huge), db.transaction((tx) => tx.query('select 1 as one'))]
    expect(await failureOf(calls[0]!)).toMatchObject({ code: 'unavailable', message: expect.stringContaining(file) })
    await Promise.allSettled(calls)
    await expect(db.query('select 1 as one')).rejects.toMatchObject({ code: 'unavailable' })
    await expect(db.transaction(async () => 1)).rejects.toMatchObject({ code: 'unavailable' })
    await expect(db.close()).rejects.toMatchObject({ code: 'unavailable' })
  })
})

/** A store of some pages, moved out of its log. */
async function fill(file: string): Promise<void> {
  const db = await openDatabase({ file })
  await db.transaction(async (tx) => {
    const insert = `insert into models (name, engine, revision, created_at, updated_at) values ($1, 'sim', $2, 0, 0)`
    for (let i = 10; i < 300; i += 1) await tx.query(insert, [`model-${String(i).padStart(6, '0')}`, 'r'.repeat(100)])
  })
  await db.close()
}

function overwrite(path: string, at: number, bytes: Buffer): void {
  const descriptor = openSync(path, 'r+')
  writeSync(descriptor, bytes, 0, bytes.length, at)
  closeSync(descriptor)
}

/** One bit of a text, where it stands first: in the table or in its index. */
function alterText(path: string, text: string): void {
  const bytes = readFileSync(path)
  const at = bytes.indexOf(text)
  overwrite(path, at, Buffer.from([bytes[at]! ^ 1]))
}

/** Lets a process write until it has acknowledged `count` transactions, then kills it without warning. */
async function writeAndKill(file: string, prefix: string, count: number): Promise<string[]> {
  const child = startScript('store/store-process.ts', ['write', file, prefix])
  const exited = once(child, 'exit')
  const ids: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    ids.push(line)
    if (ids.length === count) child.kill('SIGKILL')
  }
  await exited
  return ids
}
