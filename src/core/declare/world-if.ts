import { massLoss } from '../nodes/mass-loss.ts'
import type { Node, Replica, Rule, World } from '../types.ts'

export interface Imagined {
  /** By their ids. */
  lost: ReadonlySet<string>
  /** By their ids. */
  drained?: ReadonlySet<string>
  added: readonly Node[]
  /** In place of those that there are for the same models. */
  rules: readonly Rule[]
}

export interface ImaginedWorld {
  world: World
  /** What went with its node. */
  lost: Replica[]
  /** Losing all of these at once counts as a mass loss: nothing is replaced until an admin accepts the loss. */
  frozen: Node[]
}

/** The world with other machines or rules. What is lost is lost for good: its replicas are gone with it. */
export function worldIf(world: World, { lost, drained, added, rules }: Imagined): ImaginedWorld {
  const replaced = new Set(rules.map(({ modelName }) => modelName))
  const silent = world.nodes.map((node): Node =>
    lost.has(node.id) ? { ...node, liveness: 'offline', livenessSinceMs: world.nowMs } : node,
  )
  return {
    world: {
      ...world,
      nodes: [...world.nodes.filter(({ id }) => !lost.has(id)).map((node) => drain(node, drained)), ...added],
      replicas: world.replicas.filter(({ nodeId }) => !lost.has(nodeId)),
      rules: [...world.rules.filter(({ modelName }) => !replaced.has(modelName)), ...rules],
    },
    lost: world.replicas.filter(({ nodeId, state }) => lost.has(nodeId) && state !== 'failed'),
    frozen: lost.size === 0 ? [] : massLoss(silent, world.lossAcceptedMs),
  }
}

function drain(node: Node, drained: ReadonlySet<string> | undefined): Node {
  return drained?.has(node.id) ? { ...node, desired: 'draining' } : node
}
