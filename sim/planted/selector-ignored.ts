import type { PlantedBug } from './planted-bug.ts'

/**
 * LocalAI picks among all loaded replicas of a model. Labels of a node were looked at when a model was placed, and not
 * when a request was: after a change of labels or of the rule, requests still went to nodes that the rule excludes.
 */
export const selectorIgnored: PlantedBug = {
  name: 'selector-ignored',
  what: 'requests go to replicas on nodes that the rule excludes',
  caughtBy: 'routes',
  withinSeeds: 8,
  scene: { nodes: 3, models: 3, hours: 0.5, faults: ['change-label', 'change-rule'] },
  hooks: () => ({
    routedWorld: (world) => ({ ...world, rules: world.rules.map((rule) => ({ ...rule, nodeSelector: {} })) }),
  }),
}
