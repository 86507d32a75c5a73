import { learnMemory } from '../../core/lifecycle/learn.ts'
import type { Judgement } from '../../core/lifecycle/judge-heartbeat.ts'
import type { Sql } from '../../store/sql.ts'
import { settleDemand } from '../../store/nouns/demands.ts'
import { listLearned, saveLearned } from '../../store/nouns/learned-memory.ts'
import { saveLoadInfo } from '../../store/nouns/load-info.ts'
import { listModels } from '../../store/nouns/models.ts'
import { listDecisiveNodes } from '../../store/nouns/nodes.ts'
import { listReplicasOfNode } from '../../store/nouns/replicas.ts'

/** How long the demand for a model lasts after it was loaded, so that waiting clients reach it. */
const SETTLED_MS = 10_000

/** What a node's replicas teach, after a heartbeat that told something new of them: what they take, and that they loaded. */
export async function learn(tx: Sql, nodeId: string, { moves }: Judgement): Promise<void> {
  const [node] = await listDecisiveNodes(tx, [nodeId])
  if (!node) return
  const replicas = await listReplicasOfNode(tx, nodeId)
  const names = new Set(replicas.map(({ modelName }) => modelName))
  const models = new Map((await listModels(tx, names)).map((model) => [model.name, model]))
  const known = await listLearned(tx, names)
  const becameReady = new Set(moves.flatMap(({ replica, to }) => (to === 'ready' ? [replica.id] : [])))
  for (const replica of replicas) {
    const model = models.get(replica.modelName)
    if (!model) continue
    const learned = learnMemory(replica, node, model, known, becameReady.has(replica.id))
    if (learned) await saveLearned(tx, learned)
    if (!becameReady.has(replica.id) || replica.revision !== model.revision) continue
    const engineVersion = node.engines[model.engine]?.version ?? null
    const loadMs = Math.max(0, (replica.readySinceMs ?? 0) - replica.createdMs)
    const { name: modelName, engine, source, options, revision } = model
    await settleDemand(tx, modelName, SETTLED_MS)
    await saveLoadInfo(tx, { modelName, engine, source, options, revision, engineVersion, nodeName: node.name, loadMs })
  }
}
