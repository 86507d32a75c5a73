import type { World } from '../core/types.ts'
import type { Sql } from './database.ts'
import { listModels, type ModelRow } from './models.ts'
import { listDecisiveNodes, type StoredNode } from './nodes.ts'
import { listReplicas } from './replicas.ts'
import { listRules, toRule } from './rules.ts'

export interface StoredWorld extends World {
  models: ModelRow[]
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
  }
}
