import type { Rule, Selector, World } from '../../src/core/types.ts'
import { bigFleet } from '../placement/big-fleet.ts'

const REPLICAS_PER_NODE = 5
const NODES_PER_RULE = 10
/** All of them are met by every node, so that the world is as it should be; but each has to be looked at. */
const SELECTORS: readonly Selector[] = [{}, { tier: ['even', 'odd'] }, { tier: '!none' }]

/** A large cluster where every rule is met: a rule for every ten nodes, each with fifty replicas. */
export function bigWorld(nodeCount: number): World {
  const { nodes, replicas, models } = bigFleet(nodeCount, REPLICAS_PER_NODE, nodeCount / NODES_PER_RULE)
  const minReplicas = REPLICAS_PER_NODE * NODES_PER_RULE
  const rules = models.map(({ name }, i) => aRule(name, minReplicas, SELECTORS[i % SELECTORS.length]!))
  return { nowMs: 1000, nodes, replicas, models, rules, demands: [], facts: [], learned: [] }
}

/** The same a moment after one replica was lost. */
export function withoutOne(world: World): World {
  return { ...world, replicas: world.replicas.slice(1) }
}

/** The same a moment after one node was called offline. */
export function withoutNode(world: World): World {
  const [first, ...others] = world.nodes
  return { ...world, nodes: [{ ...first!, liveness: 'offline' }, ...others] }
}

/** The same a moment after somebody put a label on one node that no rule asks for. */
export function withLabel(world: World): World {
  const [first, ...others] = world.nodes
  return { ...world, nodes: [{ ...first!, labels: { ...first!.labels, rack: '7' } }, ...others] }
}

function aRule(modelName: string, minReplicas: number, nodeSelector: Selector): Rule {
  return {
    modelName,
    nodeSelector,
    routePolicy: 'least_loaded',
    minReplicas,
    maxReplicas: 0,
    spreadAll: false,
    scaleToZeroAfterMs: null,
    source: 'api',
    unsatisfiableUntilMs: null,
    unsatisfiableTicks: 0,
  }
}
