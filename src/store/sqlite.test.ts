import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { runScript, startScript } from '../testing/run-process.ts'
import { failureOf } from './contract.ts'
import { openDatabase } from './database.ts'

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
    const claims = await Promise.all(['a', 'b'].map((owner) => runScript('store-process.ts', ['claim', file, owner])))
    expect(new Set(claims.flat()).size).toBe(40)
    expect(await db.query(`select count(*) as count from models where engine in ('a', 'b')`)).toEqual([{ count: 40 }])
    await db.close()
  })

  test('several processes that make it together migrate it once', async () => {
    const counts = await Promise.all([1, 2, 3, 4].map(() => runScript('store-process.ts', ['open', file])))
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

/** Lets a process write until it has acknowledged `count` transactions, then kills it without warning. */
async function writeAndKill(file: string, prefix: string, count: number): Promise<string[]> {
  const child = startScript('store-process.ts', ['write', file, prefix])
  const exited = once(child, 'exit')
  const ids: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    ids.push(line)
    if (ids.length === count) child.kill('SIGKILL')
  }
  await exited
  return ids
}
