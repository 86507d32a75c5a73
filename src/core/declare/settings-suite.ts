import { aModel, aRule } from '../../../test/support/builders.ts'
import type { PlacePolicy } from '../placement/types.ts'
import type { World } from '../types.ts'
import { foreseeing } from './foresee.ts'
import type { Declaration, Foresight, NodeSettings, Overrides, Settings } from './types.ts'

/** What people have set, with defaults; for tests. */

export function someOverrides(fields: Partial<Overrides> = {}): Overrides {
  return { labels: {}, slots: null, budget: null, isDraining: false, ...fields }
}

/** `declared` is what its worker says. */
export function nodeSettings(
  name: string,
  overrides: Partial<Overrides> = {},
  declared: Partial<NodeSettings['declared']> = {},
): NodeSettings {
  return {
    id: name,
    name,
    nodeType: 'backend',
    takesPart: true,
    declared: { labels: [], slots: 1, budget: null, ...declared },
    overrides: someOverrides(overrides),
  }
}

export function someSettings(fields: Partial<Settings> = {}): Settings {
  return { models: [aModel()], rules: [aRule()], nodes: [nodeSettings('n1')], ...fields }
}

export function aDeclaration(fields: Partial<Declaration> = {}): Declaration {
  return { models: [], rules: [], nodes: [], ...fields }
}

/** All turns at once. */
export function foresee(world: World, policy: PlacePolicy): Foresight {
  const turns = foreseeing(world, policy)
  for (;;) {
    const { done, value } = turns.next()
    if (done) return value
  }
}
