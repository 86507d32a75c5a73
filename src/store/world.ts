import type { World } from '../core/types.ts'
import { lossAcceptedMs } from './cluster-facts.ts'
import type { Sql } from './database.ts'
import { listDemands } from './demands.ts'
import { listLearned } from './learned-memory.ts'
import { listFacts, type StoredFacts } from './model-facts.ts'
import { listModels, type StoredModel } from './models.ts'
import { listDecisiveNodes, type StoredNode } from './nodes.ts'
import { listReplicas, type StoredReplica } from './replicas.ts'
import { listRules, toRule } from './rules.ts'

export interface StoredWorld extends World {
  models: StoredModel[]
  replicas: StoredReplica[]
  facts: StoredFacts[]
  nodes: StoredNode[]
}

/** All that the decisions look at. In one transaction it is one snapshot: nothing in it contradicts the rest. */
export async function loadWorld(tx: Sql): Promise<StoredWorld> {
  const [now] = await tx.query<{ now: number }>('select now_ms() as now')
  return {
    nowMs: now!.now,
    nodes: await listDecisiveNodes(tx),
    models: await listModels(tx),
    rules: (await listRules(tx)).map(toRule),
    replicas: await listReplicas(tx),
    demands: await listDemands(tx),
    facts: await listFacts(tx),
    learned: await listLearned(tx),
    lossAcceptedMs: await lossAcceptedMs(tx),
  }
}
