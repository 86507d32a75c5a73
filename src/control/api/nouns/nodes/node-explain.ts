import { statusOf } from '../../../../core/nodes/status.ts'
import { explainNode } from '../../../../core/placement/explain-node.ts'
import { loadWorld } from '../../../../store/world/world.ts'
import type { Answers } from '../../answers.ts'
import type { AdminDeps } from '../../deps.ts'
import { noNode } from '../../../views/node-view.ts'

export function nodeExplainAnswers({ db, placement }: AdminDeps): Answers<'explainNode'> {
  return {
    async explainNode(_body, { id }) {
      const world = await loadWorld(db)
      const node = world.nodes.find((one) => one.id === id)
      const explanation = explainNode(world, id, placement)
      if (!node || !explanation) throw noNode(id)
      const { text, ram, devices, models } = explanation
      return {
        node_id: id,
        node_name: node.name,
        status: statusOf(node),
        text,
        ram,
        devices,
        models: models.map(({ modelName, replicas, refusal }) => ({ model_name: modelName, replicas, refusal })),
      }
    },
  }
}
