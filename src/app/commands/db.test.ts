import { existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCommand, type Said } from '../../../test/support/cli/cli-command.ts'
import { fillStore } from '../../../test/support/store/filled-store.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { systemClock } from '../../platform/run/clock.ts'
import { openDataFolder } from '../../platform/data-folder.ts'
import { openDatabase } from '../../store/database.ts'

async function aStore() {
  const data = tempFolder()
  const db = await openDatabase({ file: join(data, 'flotilla.db') })
  await fillStore(db)
  await db.close()
  const flotilla = (...args: string[]): Promise<Said> => dbCommand(...args, '--data', data)
  return { data, flotilla }
}

function dbCommand(...args: string[]): Promise<Said> {
  return runCommand(['db', ...args], { clock: systemClock }).ended
}

test('what is in a store is told, for people and for programs', async () => {
  const { flotilla, data } = await aStore()
  expect((await flotilla()).stdout).toMatch(/^SQLite .*flotilla\.db, \d+\.\d KiB, schema \d+\n[^]*events +1201/)
  expect(JSON.parse((await flotilla('check', '--json')).stdout)).toMatchObject({ rows: { models: 2 }, problems: [] })
  expect(readdirSync(data)).toEqual(['flotilla.db'])
})

test('a store that is not there is not made by looking at it', async () => {
  const data = tempFolder()
  const said = await dbCommand('info', '--data', data)
  expect(said).toMatchObject({ code: 2, stderr: expect.stringContaining('Name its data folder with --data') })
  expect(readdirSync(data)).toEqual([])
})

test('what a check finds is its answer, and its exit code is 1', async () => {
  const { flotilla, data } = await aStore()
  truncateSync(join(data, 'flotilla.db'), 20_000)
  const { code, stdout } = await flotilla('check', '--json')
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject({ problems: [expect.stringContaining('is damaged')] })
})

test('a backup goes to stdout or into a file, of which none is overwritten unasked', async () => {
  const { flotilla, data } = await aStore()
  const piped = await flotilla('export')
  expect(piped.stdout.split('\n').at(-2)).toMatch(/^\{"flotilla":"end"/)
  expect(piped.stderr).toContain('secret of the cluster')
  const file = join(data, 'backup.jsonl')
  writeFileSync(file, 'mine')
  expect((await flotilla('export', file)).stderr).toMatch(/is there already\. .*--overwrite/)
  expect(readFileSync(file, 'utf8')).toBe('mine')
  expect(JSON.parse((await flotilla('export', file, '--overwrite', '--json')).stdout)).toMatchObject({ file })
  expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(piped.stdout.split('\n').length)
  expect((await flotilla('export', join(data, 'no', 'where'))).stderr).toMatch(/^Cannot write .*no such file/)
  expect(readdirSync(data).filter((name) => name.endsWith('.new'))).toEqual([])
})

test('a screen is no place for a backup', async () => {
  const { data } = await aStore()
  const around = { clock: systemClock, terminal: { screen: true } }
  expect((await runCommand(['db', 'export', '--data', data], around).ended).stderr).toContain('name a file')
})

test('a data folder in use is left alone, and what --replace replaces is kept beside it', async () => {
  const { flotilla, data } = await aStore()
  const file = join(tempFolder(), 'backup.jsonl.gz')
  await flotilla('export', file)
  const folder = openDataFolder(data)
  expect((await flotilla('import', file, '--replace')).stderr).toContain('in use by another Flotilla')
  folder.dispose()
  expect((await flotilla('import', file)).stderr).toContain('is not empty')
  const { code, stdout } = await flotilla('import', file, '--replace', '--json')
  const { kept } = JSON.parse(stdout) as { kept: string }
  expect(code).toBe(0)
  expect(existsSync(kept)).toBe(true)
  expect(await flotilla('import', kept, '--replace')).toMatchObject({ code: 0 })
})
