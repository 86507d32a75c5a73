import { mismatchOf } from '../../src/core/nodes/selector.ts'
import type { Rule, World } from '../../src/core/types.ts'
import type { PlantedBug } from './planted-bug.ts'

/**
 * LocalAI turns "one on every matching node" into a number, as many as there are nodes, and places that many anywhere: on
 * nodes with several slots they stack, and other nodes have none.
 */
export const stackedSpread: PlantedBug = {
  name: 'stacked-spread',
  what: 'one on every node becomes as many as there are nodes, wherever they fit',
  caughtBy: 'spread',
  withinSeeds: 10,
  scene: { nodes: 4, models: 8, hours: 0.2, faults: ['change-rule'] },
  hooks: () => ({
    decide: (real) => ({
      reconcile: (world, ...rest) => real.reconcile(asCount(world), ...rest),
      checkPlan: (world, plan) => real.checkPlan(asCount(world), plan),
    }),
  }),
}

function asCount(world: World): World {
  return { ...world, rules: world.rules.map((rule) => (rule.spreadAll ? asMany(rule, world) : rule)) }
}

function asMany(rule: Rule, { nodes }: World): Rule {
  const meant = nodes.filter(
    ({ approved, desired, liveness, labels }) =>
      approved && desired === 'active' && liveness !== 'offline' && !mismatchOf(rule.nodeSelector, labels),
  )
  return { ...rule, spreadAll: false, minReplicas: meant.length, maxReplicas: meant.length }
}
