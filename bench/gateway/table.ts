import { LiveTable } from '../../src/gateway/table/routing-table.ts'
import { hashSecret } from '../../src/platform/secrets.ts'
import { MODEL_NAME } from './messages.ts'

export const DATA_KEY = 'bench-data-key'
/** One that clients may show. */
export const API_KEY = 'fk_bench'

/** A routing table with one replica of the model at each address, as control would send it. */
export function tableOf(addresses: readonly string[]): LiveTable {
  const table = new LiveTable()
  fill(table, addresses)
  return table
}

export function fill(table: LiveTable, addresses: readonly string[]): void {
  table.replace({
    feed: 'bench',
    version: 1,
    models: [{ name: MODEL_NAME, engine: 'sim', created_at: 0, route_policy: 'least_loaded', state: 'ready' }],
    routes: addresses.map((address, i) => ({
      replica_id: `replica-${i}`,
      generation: 1,
      model_name: MODEL_NAME,
      node_id: `node-${i}`,
      node_name: `node-${i}`,
      address,
      data_key: DATA_KEY,
      available_vram: 1e9,
    })),
    keys: [{ id: 'bench', key_hash: hashSecret(API_KEY), scopes: ['inference'], models: null, expires_at: null }],
  })
}
