import type { ModelExplanation } from '../../../../api/admin/model-schemas.ts'
import { explainModel, type Explanation } from '../../../../core/placement/explain.ts'
import { newestEventOf, type EventRow } from '../../../../store/nouns/events.ts'
import { findLoadInfo, type LoadInfo } from '../../../../store/nouns/load-info.ts'
import { loadWorld } from '../../../../store/world/world.ts'
import { loadStatusOf } from '../../../../core/explain/load-status.ts'
import type { Answers } from '../../answers.ts'
import type { AdminDeps } from '../../deps.ts'
import { neededModel } from '../../../views/model-view.ts'

/** What tells of a decision about a model, or of what became of it. */
const DECISIONS = ['replica.placed', 'replica.evicted', 'replica.failed', 'replica.ready'] as const

export function modelExplainAnswers({ db, placement }: AdminDeps): Answers<'explainModel'> {
  return {
    async explainModel(_body, { name }) {
      const world = await loadWorld(db)
      neededModel(world, name)
      return {
        ...viewExplanation(explainModel(world, name, placement)!),
        status: loadStatusOf(world, name, placement),
        last_decision: viewDecision(await newestEventOf(db, DECISIONS, name)),
        last_load: viewLoad(await findLoadInfo(db, name)),
      }
    },
  }
}

function viewExplanation(explanation: Explanation): Omit<ModelExplanation, 'status' | 'last_decision' | 'last_load'> {
  const { modelName, revision, wanted, wantedSinceMs, memory, nodes, next, advice } = explanation
  return {
    model_name: modelName,
    revision,
    wanted,
    wanted_since: wantedSinceMs,
    memory: memory.map(({ deviceKind, ...need }) => ({ device_kind: deviceKind, ...need })),
    nodes: nodes.map(({ nodeId, nodeName, replicas, refusal }) => ({
      node_id: nodeId,
      node_name: nodeName,
      replicas: replicas.map(({ isCurrent, inFlight, ...replica }) => ({
        ...replica,
        is_current: isCurrent,
        in_flight: inFlight,
      })),
      refusal,
    })),
    next: next && { node_name: next.nodeName, devices: next.devices, victims: next.victims },
    advice,
  }
}

function viewDecision(event: EventRow | undefined): ModelExplanation['last_decision'] {
  return event ? { at: event.at, action: event.action, reason: event.reason } : null
}

function viewLoad(info: LoadInfo | undefined): ModelExplanation['last_load'] {
  return info ? { at: info.loadedAtMs, node_name: info.nodeName, ms: info.loadMs } : null
}
