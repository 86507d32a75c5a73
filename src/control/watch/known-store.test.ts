import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { AppError } from '../../platform/errors.ts'
import { silentLogger } from '../../platform/run/log.ts'
import type { Database } from '../../store/sql.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { VirtualClock } from '../../../test/support/virtual-clock.ts'
import { Conditions } from './conditions.ts'
import { KnownStore } from './known-store.ts'

/** A frontend whose store answers as the test says. */
function aFrontend(file = join(tempFolder(), 'store.seen')) {
  const clock = new VirtualClock(1_700_000_000_000)
  const conditions = new Conditions(silentLogger)
  const says = {
    row: { cluster_id: 'ours' as string | null, epoch: 3, event_id: 30 },
    error: undefined as AppError | undefined,
  }
  const db = {
    async query() {
      if (says.error) throw says.error
      return [says.row]
    },
  } as unknown as Database
  const deps = { db, clusterId: 'ours', file, secretHash: 'h', conditions, clock, log: silentLogger }
  const store = new KnownStore(deps)
  onTestFinished(() => store.dispose())
  let backs = 0
  store.onBack(() => void (backs += 1))
  const texts = (): string[] => conditions.problems().map(({ text }) => text)
  const at = (epoch: number, eventId: number, id: string | null = 'ours') =>
    void (says.row = { cluster_id: id, epoch, event_id: eventId })
  return { clock, says, store, at, texts, file, backs: () => backs }
}

test('a store that goes on is no problem, and how far it is is written once a minute and at the end', async () => {
  const { store, at, texts, file, clock } = aFrontend()
  const written = (): unknown => JSON.parse(readFileSync(file, 'utf8'))
  await store.look()
  expect(written()).toEqual({ epoch: 3, event: 30, secret_hash: 'h' })
  at(4, 40)
  await store.look()
  expect(written()).toMatchObject({ event: 30 })
  await clock.advance(60_000)
  at(4, 50)
  await store.look()
  expect(written()).toMatchObject({ epoch: 4, event: 50 })
  at(4, 60)
  await store.look()
  store.dispose()
  expect(written()).toMatchObject({ event: 60 })
  expect(texts()).toEqual([])
})

test.each([
  ['events', 3, 22],
  ['lease epochs', 2, 30],
])('a store whose %s go back under a running frontend is told of for an hour, and once', async (_, epoch, eventId) => {
  const { store, at, texts, backs, clock } = aFrontend()
  await store.look()
  at(epoch, eventId)
  expect(await store.look()).toBe(true)
  await store.look()
  expect(texts()).toEqual([expect.stringMatching(/went back in time: its newest event was 30/)])
  expect(backs()).toBe(1)
  await clock.advance(3_600_000)
  expect(texts()).toEqual([])
})

test('a store that is older than the last run knew is noticed at the start; one that was moved whole is not', async () => {
  const before = aFrontend()
  await before.store.look()
  const moved = aFrontend(before.file)
  moved.at(1, 30)
  await moved.store.look()
  expect(moved.texts()).toEqual([])
  const older = aFrontend(before.file)
  older.at(1, 12)
  await older.store.look()
  expect(older.texts()).toEqual([expect.stringContaining('and is 12')])
})

test('a store of another cluster is not looked into any further, until ours is back', async () => {
  const { store, at, texts, backs } = aFrontend()
  await store.look()
  at(1, 2, 'theirs')
  expect(await store.look()).toBe(false)
  expect(store.foreign()).toMatch(/that of the cluster theirs, and this frontend is of the cluster ours/)
  expect(texts()).toEqual([store.foreign()])
  at(3, 31)
  expect(await store.look()).toBe(true)
  expect([store.foreign(), texts(), backs()]).toEqual([undefined, [], 0])
})

test('a database without tables is told of while it is so; one that is away is left to others', async () => {
  const { store, says, texts } = aFrontend()
  says.error = new AppError('unavailable', 'No tables.', { details: { store: 'empty' } })
  await expect(store.look()).rejects.toThrow('No tables.')
  expect(texts()).toEqual(['No tables.'])
  says.error = new AppError('unavailable', 'Away.')
  await expect(store.look()).rejects.toThrow('Away.')
  expect(texts()).toEqual([])
})
