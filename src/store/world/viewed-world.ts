import type { Label } from '../../core/nodes/labels.ts'
import type { Sql } from '../sql.ts'
import { newestEventId } from '../nouns/events.ts'
import { listLabels } from '../nouns/labels.ts'
import { listLoadInfo, type LoadInfo } from '../nouns/load-info.ts'
import { listViewedNodes, toNode, type ViewedNodeRow } from '../nouns/nodes.ts'
import { listReplicasAgain, type StoredReplica } from '../nouns/replicas.ts'
import { RowMemory } from './row-memory.ts'
import { listRules, type RuleRow } from '../nouns/rules.ts'
import { loadWorldOf, type StoredWorld } from './world.ts'

/** The world, and what people see of it besides: everything is read once. */
export interface ViewedWorld {
  world: StoredWorld
  nodes: ViewedNodeRow[]
  labels: Map<string, Label[]>
  rules: RuleRow[]
  loaded: LoadInfo[]
  newestEvent: number
}

/** For a caller that reads again and again. */
export interface ViewMemory {
  nodes: RowMemory<ViewedNodeRow>
  replicas: RowMemory<StoredReplica>
}

export function newViewMemory(): ViewMemory {
  return { nodes: new RowMemory(), replicas: new RowMemory() }
}

/**
 * One snapshot only in a transaction, which would cost too much here: when two statements contradict each other, the next
 * read mends it. The number of the newest event is read first, so that all events up to it are in the rest.
 */
export async function loadViewedWorld(sql: Sql, memory: ViewMemory): Promise<ViewedWorld> {
  const newestEvent = await newestEventId(sql)
  const nodes = await listViewedNodes(sql, memory.nodes)
  const labels = await listLabels(sql)
  const rules = await listRules(sql)
  const world = await loadWorldOf(sql, {
    nodes: nodes.map((row) => toNode(row, labels.get(row.id) ?? [])),
    rules,
    replicas: await listReplicasAgain(sql, memory.replicas),
  })
  return { world, nodes, labels, rules, loaded: await listLoadInfo(sql), newestEvent }
}
