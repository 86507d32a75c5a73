import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { RoutingSnapshotMessage } from '../../api/bus/messages.ts'
import { silentLogger, type Logger } from '../../platform/run/log.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { openSavedTable } from './saved-table.ts'

function aTable(version: number, feed = 'f'): RoutingSnapshotMessage {
  const route = { replica_id: 'r', generation: 1, model_name: 'm', node_id: 'n', node_name: 'node', address: 'a:1' }
  const routes = [{ ...route, data_key: `secret ${version}`, available_vram: null }]
  const models: RoutingSnapshotMessage['models'] = [
    { name: 'm', engine: 'sim', created_at: 1, route_policy: 'least_loaded', state: 'ready' },
  ]
  return { feed, version, models, routes, keys: [] }
}

function aFile() {
  const folder = tempFolder()
  const file = join(folder, 'routing-table.json')
  const clock = new VirtualClock(5000)
  const warnings: string[] = []
  const log = { ...silentLogger, warn: (fields: object) => void warnings.push(JSON.stringify(fields)) } as Logger
  const open = () => openSavedTable(file, clock, log)
  const version = (): number => (JSON.parse(readFileSync(file, 'utf8')) as { table: { version: number } }).table.version
  return { folder, file, clock, warnings, open, version }
}

test('what was saved is what the next run finds, and only its owner may read it', async () => {
  const { folder, file, clock, open } = aFile()
  const saved = open()
  saved.changed(() => aTable(3))
  await clock.advance(1000)
  await saved.dispose()
  expect(open().load()).toEqual({ savedAtMs: 6000, table: aTable(3) })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readdirSync(folder)).toEqual(['routing-table.json'])
})

test('a table that changes all the time is written once a second, as it is then', async () => {
  const { clock, open, version } = aFile()
  const saved = open()
  let at = 0
  const writes = new Set<number>()
  for (let i = 1; i <= 30; i += 1) {
    at = i
    saved.changed(() => aTable(at))
    await clock.advance(100)
    if (i >= 10) {
      await until(() => writtenOr(version, 0) >= Math.floor(i / 10) * 10)
      writes.add(version())
    }
  }
  expect([...writes]).toEqual([10, 20, 30])
})

function writtenOr(version: () => number, otherwise: number): number {
  try {
    return version()
  } catch {
    return otherwise
  }
}

test('what is still to be written is written at the end', async () => {
  const { open } = aFile()
  const saved = open()
  saved.changed(() => aTable(7))
  await saved.dispose()
  expect(open().load()?.table.version).toBe(7)
})

test('a table that is the same as the saved one is not written again', async () => {
  const { file, clock, open } = aFile()
  const saved = open()
  saved.changed(() => aTable(1))
  await saved.dispose()
  const again = open()
  again.load()
  rmSync(file)
  again.changed(() => aTable(1))
  await clock.advance(1000)
  await again.dispose()
  expect(again.load()).toBeUndefined()
  again.changed(() => aTable(1, 'another leader'))
  await again.dispose()
  expect(again.load()?.table.feed).toBe('another leader')
})

test('nothing is saved before there is a table', async () => {
  const { folder, open } = aFile()
  const saved = open()
  saved.changed(() => undefined)
  await saved.dispose()
  expect([saved.load(), readdirSync(folder)]).toEqual([undefined, []])
})

test.each([
  ['cut off', JSON.stringify({ saved_at: 1, table: aTable(1) }).slice(0, -20)],
  ['empty', ''],
  ['of another version', JSON.stringify({ saved_at: 1, table: { ...aTable(1), routes: [{ data_key: 'secret' }] } })],
  ['no table', 'null'],
])('a file that is %s is ignored with a warning that repeats nothing of it', (_, text) => {
  const { file, warnings, open } = aFile()
  writeFileSync(file, text)
  expect(open().load()).toBeUndefined()
  expect(warnings).toHaveLength(1)
  expect(warnings[0]).toContain('it is damaged')
  expect(warnings[0]).not.toContain('secret')
})

test('a file that a crash left half-written under another name is no table and does no harm', async () => {
  const { folder, file, open } = aFile()
  const saved = open()
  writeFileSync(`${file}.new`, '{"saved_at": 1')
  saved.changed(() => aTable(2))
  await saved.dispose()
  expect([open().load()?.table.version, readdirSync(folder)]).toEqual([2, ['routing-table.json']])
})

test('a disk that takes nothing is told once and tried again', async () => {
  const { file, warnings, clock, open } = aFile()
  const saved = open()
  // In the place of the file there is something that a file cannot replace.
  mkdirSync(join(file, 'in the way'), { recursive: true })
  for (let i = 1; i <= 3; i += 1) {
    saved.changed(() => aTable(i))
    await clock.advance(1000)
  }
  await until(() => warnings.length > 0)
  rmSync(file, { recursive: true })
  saved.changed(() => aTable(4))
  await saved.dispose()
  expect(open().load()?.table.version).toBe(4)
  expect(warnings).toHaveLength(1)
})

test('a file that was made readable for others is closed to them again', async () => {
  const { file, open } = aFile()
  writeFileSync(file, '{}')
  chmodSync(file, 0o644)
  const saved = open()
  saved.changed(() => aTable(1))
  await saved.dispose()
  expect(statSync(file).mode & 0o777).toBe(0o600)
})
