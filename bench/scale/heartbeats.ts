import type { HeartbeatMessage } from '../../src/api/bus/messages.ts'
import { subjects } from '../../src/api/bus/subjects.ts'
import { controlEvents } from '../../src/control/turn/narrate.ts'
import { takeHeartbeats, type HeartbeatFrom } from '../../src/control/heartbeats/take.ts'
import type { World } from '../../src/core/types.ts'
import { silentLogger } from '../../src/platform/run/log.ts'
import type { Database } from '../../src/store/sql.ts'
import { acquireLease } from '../../src/store/nouns/leases.ts'
import { cpuMs } from './measure.ts'

/** As many as the leader takes in one transaction. */
const BATCH = 100
const BATCHES = 8
/** Of all that are measured. */
export const HEARTBEATS_TAKEN = BATCH * BATCHES
const ENGINES = 9

export interface HeartbeatTimes {
  /** Of one heartbeat: read from the bus, and taken into the store. */
  readMs: number
  takeMs: number
  bytes: number
}

/** What a heartbeat costs the leader when nothing has happened on its node but that memory came and went. */
export async function measureHeartbeats(db: Database, world: World): Promise<HeartbeatTimes> {
  const answer = await acquireLease(db, { name: 'leader', owner: 'bench', ttlMs: 600_000 })
  if (!('epoch' in answer)) throw new Error(`${answer.heldBy} leads`)
  const lease = { name: 'leader', owner: 'bench', epoch: answer.epoch }
  const replicas = Map.groupBy(world.replicas, ({ nodeId }) => nodeId)
  const size = Math.min(BATCH, world.nodes.length)
  const events = controlEvents(silentLogger)
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < BATCHES; i += 1) {
    const batch = Array.from({ length: size }, (_, j): HeartbeatFrom => {
      const node = world.nodes[j]!
      return { nodeId: node.id, heartbeat: aHeartbeat(node, replicas.get(node.id) ?? [], i + 10) }
    })
    const tookMs = await cpuMs(async () => {
      const taken = await takeHeartbeats(db, lease, events, batch)
      if (taken.length !== size) throw new Error(`${taken.length} of ${size} heartbeats were taken`)
    })
    least = Math.min(least, tookMs / size)
  }
  const text = JSON.stringify(aHeartbeat(world.nodes[0]!, replicas.get(world.nodes[0]!.id)!, 1))
  const read = async (): Promise<number> =>
    cpuMs(() => {
      for (let i = 0; i < BATCH; i += 1) subjects.heartbeat.message.parse(JSON.parse(text))
    })
  await read()
  return { readMs: Math.min(await read(), await read()) / BATCH, takeMs: least, bytes: text.length }
}

function aHeartbeat(
  node: World['nodes'][number],
  replicas: readonly World['replicas'][number][],
  seq: number,
): HeartbeatMessage {
  return {
    boot_id: node.bootId,
    seq,
    replicas: replicas.map(({ id, generation, modelName, replicaIndex, measured }) => ({
      id,
      generation,
      model_name: modelName,
      replica_index: replicaIndex,
      state: 'ready',
      in_flight: 0,
      idle_ms: null,
      progress: null,
      exit: null,
      memory: measured && { ram: measured.ram, devices: measured.devices && [...measured.devices] },
      out_of_memory: false,
    })),
    engines: Array.from({ length: ENGINES }, (_, i) => ({
      name: i === 0 ? 'llama.cpp' : `engine-${i}`,
      source: 'built-in',
      state: i === 0 ? 'available' : 'missing',
      reason: i === 0 ? null : `the program engine-${i} is neither installed nor in PATH`,
      version: '1',
      serves: [],
      memory: 'on_load',
      uses: { device: 'either' },
      operation: null,
    })),
    gpu_vendor: 'nvidia',
    devices: node.devices.map(({ index, name, totalVram, availableVram, unified }) => ({
      index,
      uuid: `u${index}`,
      name,
      total_vram: totalVram,
      available_vram: (availableVram ?? 0) - (seq % 7) * 2 ** 20,
      unified,
    })),
    total_ram: node.totalRam ?? 0,
    available_ram: (node.availableRam ?? 0) - seq * 4096,
    total_disk: node.totalDisk ?? 0,
    available_disk: node.availableDisk ?? 0,
  }
}
