import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { adminApi } from '../../control/api/admin-api.ts'
import { systemClock } from '../../platform/run/clock.ts'
import { writeLiveBackup } from '../../store/backup/live-backup.ts'
import { openDatabase } from '../../store/database.ts'
import { findMigrations } from '../../store/migrate/migration-files.ts'
import { fileMark } from '../../store/driver/open-file.ts'
import { ADMIN_KEY, ControlScene } from '../../../test/support/control/control-scene.ts'
import { runCommand, type Said } from '../../../test/support/cli/cli-command.ts'
import { fillStore } from '../../../test/support/store/filled-store.ts'
import { serve } from '../../../test/support/http/http.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'

/** A frontend's API on a store whose file has been there. */
async function aFrontend() {
  const data = tempFolder()
  const file = join(data, 'flotilla.db')
  const db = await openDatabase({ file })
  await fillStore(db)
  const scene = await ControlScene.start(db)
  const deps = { migrations: findMigrations(), program: 'test', nowMs: 1 }
  const api = adminApi({ ...scene.deps, backup: (sink) => writeLiveBackup(db, { file }, deps, sink) })
  const url = await serve(api)
  onTestFinished(async () => {
    await scene.end()
    await db.close()
  })
  const endpoint = { url, listen: url.slice('http://'.length), database: fileMark(file) }
  writeFileSync(join(data, 'endpoint.json'), JSON.stringify(endpoint))
  writeFileSync(join(data, 'admin.key'), ADMIN_KEY)
  const flotilla = (...args: string[]): Promise<Said> =>
    runCommand(['db', ...args, '--data', data], { clock: systemClock }).ended
  return { data, file, db, url, flotilla }
}

test('db export saves everything from the frontend when the file of the database was deleted', async () => {
  const { data, file, db, flotilla } = await aFrontend()
  const before = join(data, 'before.jsonl')
  await flotilla('export', before)
  for (const name of ['flotilla.db', 'flotilla.db-wal', 'flotilla.db-shm']) rmSync(join(data, name), { force: true })
  await db.transaction((tx) => tx.query(`insert into rules (model_name, updated_at) values ('later', 1)`))
  const after = join(data, 'after.jsonl')
  const said = await flotilla('export', after)
  expect(said).toMatchObject({ code: 0, stderr: expect.stringContaining('The database file is gone') as string })
  const lines = (path: string) => readFileSync(path, 'utf8').split('\n').slice(1, -2)
  expect(lines(after).filter((line) => !lines(before).includes(line))).toEqual([expect.stringContaining('later')])
  expect(lines(before).filter((line) => !lines(after).includes(line))).toEqual([])
  expect(readdirSync(data).filter((name) => name.startsWith('.export'))).toEqual([])
  // What was saved can be imported.
  const elsewhere = tempFolder()
  const imported = await runCommand(['db', 'import', after, '--data', elsewhere], { clock: systemClock }).ended
  expect(imported).toMatchObject({ code: 0 })
  renameSync(join(elsewhere, 'flotilla.db'), file)
  // Another file stands there now: what the frontend has open is still what is saved.
  expect((await flotilla('export', join(data, 'again.jsonl'))).stderr).toContain('The database file is gone')
})

test('the store is exported for the admin key of the frontend only', async () => {
  const { url } = await aFrontend()
  const status = async (key: string) =>
    (await fetch(`${url}/api/store/export`, { headers: { authorization: `Bearer ${key}` } })).status
  const made = await fetch(`${url}/api/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_KEY}` },
    body: JSON.stringify({ name: 'ci', scopes: ['admin'] }),
  })
  const { key } = (await made.json()) as { key: string }
  expect(await status(ADMIN_KEY)).toBe(200)
  expect(await status(key)).toBe(403)
  expect(await status('fla_wrong')).toBe(401)
})
