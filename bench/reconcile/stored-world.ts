import type { World } from '../../src/core/types.ts'
import type { Database, Value } from '../../src/store/sql.ts'

/** Of one statement. */
const MOST_VALUES = 5000

/** Writes a world into an empty store, as rows and not step by step: there may be fifty thousand replicas. */
export async function storeWorld(db: Database, { nodes, models, rules, replicas }: World): Promise<void> {
  const [row] = await db.query<{ now: number }>('select now_ms() as now')
  const nowMs = row!.now
  const all: [table: string, rows: Record<string, Value>[]][] = [
    ['nodes', nodes.map((node) => nodeRow(node, nowMs))],
    ['models', models.map((model) => modelRow(model, nowMs))],
    ['rules', rules.map((rule) => ruleRow(rule, nowMs))],
    ['replicas', replicas.map((replica) => replicaRow(replica, nowMs))],
  ]
  for (const [table, rows] of all) await insert(db, table, rows)
}

async function insert(db: Database, table: string, rows: readonly Record<string, Value>[]): Promise<void> {
  const columns = Object.keys(rows[0]!)
  const size = Math.floor(MOST_VALUES / columns.length)
  for (let i = 0; i < rows.length; i += size) {
    const some = rows.slice(i, i + size)
    const places = some.map((_, j) => `(${columns.map((_, k) => `$${j * columns.length + k + 1}`).join(', ')})`)
    const values = some.flatMap((row) => columns.map((column) => row[column]!))
    const text = `insert into ${table} (${columns.join(', ')}) values ${places.join(', ')}`
    await db.transaction((tx) => tx.query(text, values))
  }
}

function nodeRow(node: World['nodes'][number], nowMs: number): Record<string, Value> {
  return {
    id: node.id,
    name: node.name,
    public_key: node.id,
    node_type: 'backend',
    address: node.address,
    version: '1',
    approved_at: nowMs,
    liveness: 'online',
    liveness_since: nowMs,
    boot_id: node.bootId,
    heartbeat_seq: 1,
    // Silent nodes would have to be asked, one by one.
    last_heartbeat: nowMs + 3_600_000,
    engines: JSON.stringify([
      {
        name: 'llama.cpp',
        source: 'built-in',
        state: 'available',
        reason: null,
        version: '1',
        serves: [],
        memory: 'on_load',
        uses: { device: 'either' },
        operation: null,
      },
    ]),
    devices: JSON.stringify(
      node.devices.map(({ index, name, totalVram, availableVram, unified }) => ({
        index,
        uuid: `u${index}`,
        name,
        total_vram: totalVram,
        available_vram: availableVram,
        unified,
      })),
    ),
    total_ram: node.totalRam,
    available_ram: node.availableRam,
    total_disk: node.totalDisk,
    available_disk: node.availableDisk,
    registered_at: nowMs,
  }
}

function modelRow({ name, engine, memory, revision }: World['models'][number], nowMs: number): Record<string, Value> {
  return { name, engine, memory: JSON.stringify(memory), revision, created_at: nowMs, updated_at: nowMs }
}

/** Without its selector: nodes get no labels here. */
function ruleRow({ modelName, minReplicas }: World['rules'][number], nowMs: number): Record<string, Value> {
  return { model_name: modelName, min_replicas: minReplicas, updated_at: nowMs }
}

function replicaRow(replica: World['replicas'][number], nowMs: number): Record<string, Value> {
  return {
    id: replica.id,
    node_id: replica.nodeId,
    model_name: replica.modelName,
    replica_index: replica.replicaIndex,
    generation: replica.generation,
    revision: replica.revision,
    state: replica.state,
    known_from_seq: 1,
    claim: JSON.stringify(replica.claim),
    measured: JSON.stringify(replica.measured),
    ready_at: nowMs,
    created_at: nowMs,
    updated_at: nowMs,
  }
}
