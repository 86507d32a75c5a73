import { expect, test } from 'vitest'
import type { RoutingPartMessage } from '../../api/bus/messages.ts'
import type { Bus } from '../../bus/bus.ts'
import { fetchTable } from './fetch-table.ts'

const route = (id: string): RoutingPartMessage['routes'][number] => ({
  replica_id: id,
  generation: 1,
  model_name: 'm',
  node_id: 'n',
  node_name: 'n',
  address: '127.0.0.1:1',
  data_key: 'k',
  available_vram: null,
})
const part = (version: number, id: string): RoutingPartMessage => ({
  feed: 'f',
  version,
  parts: 2,
  models: [],
  routes: [route(id)],
  keys: [],
})

function aBus(answer: (part: number, asked: number) => RoutingPartMessage) {
  let asked = 0
  const request = async (_name: string, { part }: { part: number }) => answer(part, (asked += 1))
  return { bus: { request } as unknown as Bus, asked: () => asked }
}

test('a table in parts is put together', async () => {
  const { bus } = aBus((at) => part(7, `r${at}`))
  const table = await fetchTable(bus)
  expect(table).toMatchObject({ feed: 'f', version: 7, routes: [{ replica_id: 'r0' }, { replica_id: 'r1' }] })
  expect(table).not.toHaveProperty('parts')
})

test('models and keys come with any part', async () => {
  const model = { name: 'm', engine: 'sim', created_at: 1, route_policy: 'least_loaded', state: 'ready' } as const
  const key = { id: 'k', key_hash: 'h', scopes: [], models: null, expires_at: null }
  const { bus } = aBus((at) =>
    at === 0 ? { ...part(7, 'r'), keys: [key] } : { ...part(7, 'r'), models: [model], keys: [key] },
  )
  expect(await fetchTable(bus)).toMatchObject({ models: [model], keys: [key, key] })
})

test('parts of different versions are never mixed: it is read anew', async () => {
  const { bus, asked } = aBus((at, n) => part(n <= 1 ? 1 : 2, `r${at}`))
  expect(await fetchTable(bus)).toMatchObject({ version: 2, routes: [{}, {}] })
  expect(asked()).toBe(4)
})

test('one that never holds still is an error, not a mixture', async () => {
  const { bus } = aBus((at, n) => part(n, `r${at}`))
  await expect(fetchTable(bus)).rejects.toMatchObject({ code: 'unavailable' })
})
