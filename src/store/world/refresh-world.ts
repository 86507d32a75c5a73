import { lossAcceptedMs } from '../nouns/cluster-facts.ts'
import type { Sql } from '../sql.ts'
import { listDemands } from '../nouns/demands.ts'
import { listLearned, namesLearnedOf } from '../nouns/learned-memory.ts'
import { listFacts } from '../nouns/model-facts.ts'
import { listModels } from '../nouns/models.ts'
import { listDecisiveNodes } from '../nouns/nodes.ts'
import { listReplicas, listReplicasOfModels, type StoredReplica } from '../nouns/replicas.ts'
import { listRules, toRule } from '../nouns/rules.ts'
import type { StoredWorld } from './world.ts'

/** Nodes and models about which rows may differ: all that belongs to them is read again. */
export interface Touched {
  nodeIds: ReadonlySet<string>
  modelNames: ReadonlySet<string>
}

/** Longer than any transaction takes, so that none is missed that wrote its time before it was committed. */
const LEARNED_WITHIN_MS = 60_000

/**
 * The world again, when only the named nodes and models may have changed. All other rows are the same objects as before, by
 * which `reconcile` recognises them. Costs as much as has changed; a change of anything else is not seen.
 */
export async function refreshWorld(
  tx: Sql,
  before: StoredWorld,
  { nodeIds, modelNames }: Touched,
): Promise<StoredWorld> {
  const [now] = await tx.query<{ now: number }>('select now_ms() as now')
  // A heartbeat writes learned memory without naming the models.
  const learned = new Set([...modelNames, ...(await namesLearnedOf(tx, LEARNED_WITHIN_MS))])
  const isTouched = ({ modelName }: { modelName: string }): boolean => modelNames.has(modelName)
  const nodes = async (): Promise<StoredWorld['nodes']> =>
    replaceRows(before.nodes, ({ id }) => nodeIds.has(id), await listDecisiveNodes(tx, nodeIds), byName)
  const ofModels = async (): Promise<Pick<StoredWorld, 'models' | 'rules' | 'facts'>> => ({
    models: replaceRows(before.models, ({ name }) => modelNames.has(name), await listModels(tx, modelNames), byName),
    rules: replaceRows([...before.rules], isTouched, (await listRules(tx, modelNames)).map(toRule), byModel),
    facts: replaceRows(before.facts, isTouched, await listFacts(tx, modelNames), byModel),
  })
  const isLearned = ({ modelName }: { modelName: string }): boolean => learned.has(modelName)
  return {
    ...before,
    nowMs: now!.now,
    ...(nodeIds.size > 0 && { nodes: await nodes() }),
    ...(modelNames.size > 0 && (await ofModels())),
    ...(nodeIds.size + modelNames.size > 0 && {
      replicas: await refreshReplicas(tx, before.replicas, { nodeIds, modelNames }),
    }),
    ...(learned.size > 0 && {
      learned: replaceRows([...before.learned], isLearned, await listLearned(tx, learned), byModel),
    }),
    demands: await listDemands(tx),
    lossAcceptedMs: await lossAcceptedMs(tx),
  }
}

async function refreshReplicas(tx: Sql, before: StoredReplica[], { nodeIds, modelNames }: Touched) {
  const onNodes = await listReplicas(tx, nodeIds)
  const ofModels = await listReplicasOfModels(tx, modelNames)
  const now = [...onNodes, ...ofModels.filter(({ nodeId }) => !nodeIds.has(nodeId))]
  const isTouched = ({ nodeId, modelName }: StoredReplica): boolean => nodeIds.has(nodeId) || modelNames.has(modelName)
  return replaceRows(before, isTouched, now, bySlot)
}

/**
 * Replaces the rows that may have changed by the present ones, each at its place in this order. PostgreSQL may order text
 * differently; then they stand elsewhere, which makes no difference.
 */
function replaceRows<T>(
  before: T[],
  isTouched: (row: T) => boolean,
  now: readonly T[],
  order: (a: T, b: T) => number,
): T[] {
  const rows = before.filter((row) => !isTouched(row))
  for (const row of now) {
    let low = 0
    let high = rows.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (order(rows[middle]!, row) < 0) low = middle + 1
      else high = middle
    }
    rows.splice(low, 0, row)
  }
  return rows
}

function byName(a: { name: string }, b: { name: string }): number {
  return compare(a.name, b.name)
}

function byModel(a: { modelName: string }, b: { modelName: string }): number {
  return compare(a.modelName, b.modelName)
}

function bySlot(a: StoredReplica, b: StoredReplica): number {
  return compare(a.modelName, b.modelName) || compare(a.nodeId, b.nodeId) || a.replicaIndex - b.replicaIndex
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}
