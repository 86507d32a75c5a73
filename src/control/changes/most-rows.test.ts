import { expect, test } from 'vitest'
import type { RoutingDeltaMessage } from '../../api/bus/messages.ts'
import { fetchTable } from '../../gateway/table/fetch-table.ts'
import type { Database } from '../../store/sql.ts'
import { aLoggedScene } from '../../../test/support/control/logged-scene.ts'
import { roleBuses } from '../../../test/support/bus/role-buses.ts'
import { runControl } from '../../../test/support/control/running-control.ts'
import { until } from '../../../test/support/until.ts'

const NAME = `substr('m' || i || '-' || hex(zeroblob(100)), 1, 200)`
const COUNT = (last: number): string =>
  `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${last})`

const addModels = (db: Database, last: number): Promise<unknown> =>
  db.transaction((tx) =>
    tx.query(`${COUNT(last)} insert into models (name, engine, options, revision, created_at, updated_at)
      select ${NAME}, 'sim', '{}', 'r', 1, 1 from n`),
  )
const addKeys = (db: Database, last: number): Promise<unknown> =>
  db.transaction((tx) =>
    tx.query(`${COUNT(last)} insert into api_keys (id, name, key_hash, scopes, created_at)
      select 'key-with-an-id-of-uuid-length-' || i, 'k', hex(zeroblob(30)) || i, '["inference"]', 1 from n`),
  )
const addRules = (db: Database, last: number): Promise<unknown> =>
  db.transaction((tx) => tx.query(`${COUNT(last)} insert into rules (model_name, updated_at) select ${NAME}, 1 from n`))

const refused = (what: string) => ({ status: 409, body: { error: { message: expect.stringContaining(what) } } })

test('there are 10,000 models at most; those that are there can be changed', async () => {
  const { scene, db } = await aLoggedScene()
  await addModels(db, 9999)
  const add = (name: string) => scene.admin('POST', '/api/models', { name, engine: 'sim' })
  expect(await add('last')).toMatchObject({ status: 200 })
  expect(await add('more')).toMatchObject(refused('at most 10000. Remove some before you add "more"'))
  expect(await scene.admin('PUT', '/api/models/last', { engine: 'llama' })).toMatchObject({ status: 200 })
  const document = { models: [{ name: 'declared', engine: 'sim' }] }
  expect(await scene.admin('POST', '/api/apply', { document })).toMatchObject(refused('"declared"'))
})

test('there are 10,000 rules at most', async () => {
  const { scene, db } = await aLoggedScene()
  await addRules(db, 10_000)
  expect(await scene.admin('POST', '/api/nodes/scheduling', { model_name: 'more' })).toMatchObject(
    refused('10000 rules'),
  )
})

test('there are 10,000 API keys that work at most', async () => {
  const { scene, db } = await aLoggedScene()
  await addKeys(db, 9999)
  const add = () => scene.admin<{ id: string }>('POST', '/api/keys', { name: 'k' })
  const { status, body } = await add()
  expect(status).toBe(200)
  expect(await add()).toMatchObject(refused('10000 API keys'))
  await scene.admin('DELETE', `/api/keys/${body.id}`)
  expect(await add()).toMatchObject({ status: 200 })
})

test('with as many models and keys as there may be, control leads, turns and tells gateways of all', async () => {
  const { scene, db } = await aLoggedScene()
  await addModels(db, 9998)
  await addKeys(db, 9999)
  const join = await roleBuses(['g'])
  const [bus, gateway] = [await join('control'), await join('g')]
  const { control } = await runControl(scene, bus)
  const deltas: RoutingDeltaMessage[] = []
  gateway.subscribe('routingDelta', (delta) => void deltas.push(delta))
  await until(() => fetchTable(gateway).then(Boolean, () => false))
  const table = await fetchTable(gateway)
  expect(table.models).toHaveLength(9998)
  expect(table.keys.length).toBeGreaterThanOrEqual(9999)
  await scene.admin('POST', '/api/models', { name: 'new', engine: 'sim' })
  control.wake()
  await until(() => deltas.some(({ version }) => version > table.version))
  expect(control.problem()).toBeUndefined()
  expect((await fetchTable(gateway)).models).toHaveLength(9999)
  await control.dispose()
})
