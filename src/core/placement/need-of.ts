import type { Model, Replica, World } from '../types.ts'
import type { Need } from '../memory/types.ts'

/** What the next replica of a model needs, by all that the world knows of it. */
export function needOf(world: World, model: Model): Need {
  const failed = world.replicas.filter(
    ({ modelName, state, revision }) => modelName === model.name && state === 'failed' && revision === model.revision,
  )
  return {
    model,
    selector: world.rules.find(({ modelName }) => modelName === model.name)?.nodeSelector ?? {},
    facts: world.facts.find((one) => one.modelName === model.name && one.revision === model.revision) ?? null,
    learned: world.learned.filter(({ modelName }) => modelName === model.name),
    failing: new Map(failed.map((replica) => [replica.nodeId, describeWait(replica, world.nowMs)])),
  }
}

function describeWait({ failures, retryAtMs }: Replica, nowMs: number): string {
  const seconds = Math.max(0, Math.ceil(((retryAtMs ?? nowMs) - nowMs) / 1000))
  const times = failures === 1 ? 'once' : `${failures} times`
  return `failed ${times}, next try in ${seconds} s`
}
