import { Memory } from '../../core/reconcile/memory.ts'
import { MOST_REFUSALS } from '../../core/reconcile/searches.ts'
import type { Sql } from '../../store/sql.ts'
import { listEvents, newestEventId } from '../../store/nouns/events.ts'
import { refreshWorld, type Touched } from '../../store/world/refresh-world.ts'
import { loadWorld, type StoredWorld } from '../../store/world/world.ts'

/** The world as the last turn left it, so that the next one reads only what has changed. */
export interface KeptWorld {
  world: StoredWorld
  /** The newest event that is in it. */
  eventId: number
  /** When all of it was last read, by the store's clock. */
  wholeAtMs: number
  memory: Memory
}

/** How often everything is read and planned anew, even if nothing seems to have changed. */
const WHOLE_EVERY_MS = 30_000
/** More changes than these are not worth picking out. */
const MOST_EVENTS = 500
const MOST_SHARE = 0.25
const FEW_NODES = 50

/**
 * The world as it is now. Every change that others make is an event, numbered without gaps in the order of commit, with the
 * node or the model that it is about; what we wrote ourselves is in `own`. In any doubt everything is read: at the first
 * turn, after a gap, for an event that names neither, when too much has changed, and every half minute.
 */
export async function nextWorld(
  tx: Sql,
  kept: KeptWorld | undefined,
  own: Touched | undefined,
  nowMs: number,
  wholeEveryMs = WHOLE_EVERY_MS,
): Promise<Omit<KeptWorld, 'eventId'>> {
  const touched = kept && own && nowMs - kept.wholeAtMs < wholeEveryMs ? await touchedSince(tx, kept, own) : undefined
  if (!kept || !touched) return readWhole(tx, nowMs)
  return { ...kept, world: await refreshWorld(tx, kept.world, touched) }
}

async function readWhole(tx: Sql, nowMs: number): Promise<Omit<KeptWorld, 'eventId'>> {
  return { world: await loadWorld(tx), wholeAtMs: nowMs, memory: new Memory({ mostRefusals: MOST_REFUSALS }) }
}

async function touchedSince(tx: Sql, { world, eventId }: KeptWorld, own: Touched): Promise<Touched | undefined> {
  const newestId = await newestEventId(tx)
  // In most turns nothing has happened.
  const events = newestId === eventId ? [] : await listEvents(tx, eventId, MOST_EVENTS + 1)
  if (events.length > MOST_EVENTS || newestId !== eventId + events.length) return undefined
  const nodeIds = new Set(own.nodeIds)
  const modelNames = new Set(own.modelNames)
  for (const { node_id: nodeId, model_name: modelName } of events) {
    if (nodeId === null && modelName === null) return undefined
    if (nodeId !== null) nodeIds.add(nodeId)
    if (modelName !== null) modelNames.add(modelName)
  }
  const isMuch = nodeIds.size > Math.max(FEW_NODES, world.nodes.length * MOST_SHARE)
  return isMuch || modelNames.size > MOST_EVENTS ? undefined : { nodeIds, modelNames }
}
