import type { ReportedEngineMessage } from '../../api/bus/messages.ts'
import type { Hardware } from '../../api/hardware.ts'
import type { Sql } from '../sql.ts'
import { sameForDecisions } from './node-engines.ts'
import { devicesText } from './nodes.ts'
import { queryAmong, type Among } from '../query-among.ts'

export interface HeartbeatFacts extends Hardware {
  nodeId: string
  bootId: string
  runId: string | null
  seq: number
  engines: readonly ReportedEngineMessage[]
}

/** What a heartbeat is compared with. */
export interface BeforeHeartbeat {
  name: string
  liveness: string
  heartbeat_seq: number
  devices: string
  engines: string
  total_ram: number | null
  available_ram: number | null
  total_disk: number | null
  available_disk: number | null
  freed: string | null
}

export interface RecordedHeartbeat {
  name: string
  back: boolean
  otherEngines: boolean
  roomier: boolean
  isSame: boolean
  /** Of ended replicas, as it was before this heartbeat. */
  freed: string | null
}

/** Of several nodes in one statement, by their ids: to ask for each by itself takes longer than to write it. */
export async function readBeforeHeartbeats(tx: Sql, nodeIds: Among): Promise<Map<string, BeforeHeartbeat>> {
  const rows = (await queryAmong(tx, 'id', nodeIds, selectBefore)) as unknown as (BeforeHeartbeat & { id: string })[]
  return new Map(rows.map((row) => [row.id, row]))
}

function selectBefore(where: string): string {
  return `select id, name, liveness, heartbeat_seq, devices, engines, total_ram, available_ram, total_disk, available_disk,
    freed from nodes ${where}`
}

/**
 * Undefined when ignored: of another boot, of another run while the node's own is heard, older than one already seen, or of
 * an unknown or pending node. `back`: the node was silent or new until now. `otherEngines`: what it can run, or why it
 * cannot, has changed. `roomier`: it has more memory free than before. `isSame`: for a turn, only the time of its last
 * heartbeat has changed.
 */
export async function recordHeartbeat(
  tx: Sql,
  facts: HeartbeatFacts,
  known?: BeforeHeartbeat,
): Promise<RecordedHeartbeat | undefined> {
  const before = known ?? (await readBeforeHeartbeats(tx, [facts.nodeId])).get(facts.nodeId)
  if (!before) return undefined
  const devices = facts.devices.some((gpu) => gpu.available_vram === null)
    ? withLastKnown(facts.devices, devicesText.parse(before.devices))
    : facts.devices
  const engines = JSON.stringify(facts.engines)
  const devicesNow = JSON.stringify(devices)
  const written = await tx.query(
    `update nodes set last_heartbeat = now_ms(), heartbeat_seq = $2, run_id = $10,
       liveness_since = case when liveness = 'online' then liveness_since else now_ms() end, liveness = 'online',
       gpu_vendor = $3, devices = $4, total_ram = $5, available_ram = $6, total_disk = $7, available_disk = $8
     where id = $1 and boot_id = $9 and heartbeat_seq < $2 and approved_at is not null
       and (run_id is null or run_id = $10 or liveness <> 'online') returning id`,
    [
      facts.nodeId,
      facts.seq,
      facts.gpu_vendor,
      devicesNow,
      facts.total_ram,
      facts.available_ram,
      facts.total_disk,
      facts.available_disk,
      facts.bootId,
      facts.runId,
    ],
  )
  if (written.length === 0) return undefined
  // By far the longest text of a node, and nearly always the same as before.
  const isOther = engines !== before.engines
  if (isOther) await tx.query('update nodes set engines = $2 where id = $1', [facts.nodeId, engines])
  const otherEngines = isOther && !sameForDecisions(before.engines, engines)
  const roomier =
    hasGrown(before.available_ram, facts.available_ram) ||
    hasGrown(before.available_disk, facts.available_disk) ||
    (devicesNow !== before.devices && hasRoomierDevice(devicesText.parse(before.devices), devices))
  const back = before.liveness !== 'online'
  const isSame = !back && !isOther && before.heartbeat_seq > 0 && isSameHardware(before, facts, devicesNow)
  return { name: before.name, back, otherEngines, roomier, isSame, freed: before.freed }
}

function isSameHardware(before: BeforeHeartbeat, now: HeartbeatFacts, devices: string): boolean {
  const isSameRam = before.total_ram === now.total_ram && before.available_ram === now.available_ram
  const isSameDisk = before.total_disk === now.total_disk && before.available_disk === now.available_disk
  return isSameRam && isSameDisk && before.devices === devices
}

/** Readings flutter by some megabytes all the time; nothing waits for so little. */
const ROOM_STEP = 64 * 2 ** 20

export function hasGrown(before: number | null, now: number | null): boolean {
  return before === null || now === null ? before !== now : now - before >= ROOM_STEP
}

/** Devices that have come or gone are as good as grown. */
export function hasRoomierDevice(before: Devices, now: Devices): boolean {
  if (before.length !== now.length) return true
  return now.some((gpu, i) => {
    const last = before[i]!
    return gpu.uuid !== last.uuid || hasGrown(last.available_vram, gpu.available_vram)
  })
}

type Devices = Hardware['devices']

function withLastKnown(devices: Devices, known: Devices): Devices {
  const last = new Map(known.map((gpu) => [gpu.uuid, gpu.available_vram]))
  return devices.map((gpu) => ({ ...gpu, available_vram: gpu.available_vram ?? last.get(gpu.uuid) ?? null }))
}
