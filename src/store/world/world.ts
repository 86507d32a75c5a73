import type { World } from '../../core/types.ts'
import { lossAcceptedMs } from '../nouns/cluster-facts.ts'
import type { Sql } from '../sql.ts'
import { listDemands } from '../nouns/demands.ts'
import { listLearned } from '../nouns/learned-memory.ts'
import { listFacts, type StoredFacts } from '../nouns/model-facts.ts'
import { listModels, type StoredModel } from '../nouns/models.ts'
import { listDecisiveNodes, type StoredNode } from '../nouns/nodes.ts'
import { listReplicas, type StoredReplica } from '../nouns/replicas.ts'
import { listRules, toRule, type RuleRow } from '../nouns/rules.ts'

export interface StoredWorld extends World {
  models: StoredModel[]
  replicas: StoredReplica[]
  facts: StoredFacts[]
  nodes: StoredNode[]
}

/** All that the decisions look at. In one transaction it is one snapshot: nothing in it contradicts the rest. */
export async function loadWorld(tx: Sql): Promise<StoredWorld> {
  return loadWorldOf(tx, {
    nodes: await listDecisiveNodes(tx),
    rules: await listRules(tx),
    replicas: await listReplicas(tx),
  })
}

interface WorldRead {
  nodes: StoredNode[]
  rules: RuleRow[]
  replicas: StoredReplica[]
}

/** For a caller that has read these rows already. */
export async function loadWorldOf(tx: Sql, read: WorldRead): Promise<StoredWorld> {
  const [now] = await tx.query<{ now: number }>('select now_ms() as now')
  return {
    nowMs: now!.now,
    nodes: read.nodes,
    models: await listModels(tx),
    rules: read.rules.map(toRule),
    replicas: read.replicas,
    demands: await listDemands(tx),
    facts: await listFacts(tx),
    learned: await listLearned(tx),
    lossAcceptedMs: await lossAcceptedMs(tx),
  }
}
