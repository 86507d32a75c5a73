import { canonicalJson } from '../lib/canonical-json.ts'
import { isStaying } from '../lifecycle/states.ts'
import type { Model, Replica } from '../types.ts'
import type { ModelEffect } from './types.ts'

export interface Saving {
  /** Undefined when it is new. */
  before: Model | undefined
  after: Model
  /** Of this model. */
  replicas: readonly Replica[]
  rule: { min_replicas: number; spread_all: boolean } | undefined
}

/** What follows from saving a model. Pure. */
export function effectOf({ before, after, replicas, rule }: Saving): ModelEffect {
  if (before && isSame(before, after)) {
    return { is_changed: false, replaced: 0, text: 'Nothing changes: it means the same as before.' }
  }
  const replaced = replicas.filter(({ state, revision }) => {
    return isStaying(state) && revision !== after.revision
  }).length
  return { is_changed: true, replaced, text: textOf(before, after, replaced, rule) }
}

function isSame(before: Model, after: Model): boolean {
  return before.revision === after.revision && canonicalJson(placing(before)) === canonicalJson(placing(after))
}

/** What says where its replicas may go, and not what they are. */
function placing({ memory, antiAffinity }: Model): unknown {
  return { memory, antiAffinity }
}

function textOf(before: Model | undefined, after: Model, replaced: number, rule: Saving['rule']): string {
  if (replaced > 0) {
    const [what, them] = replaced === 1 ? ['1 replica', 'is'] : [`${replaced} replicas`, 'are']
    const how = replaced === 1 ? 'replaced' : 'replaced one by one'
    return `${what} of the old revision ${them} ${how}: a new one is started first where there is room for both.`
  }
  if (before?.revision === after.revision) {
    return 'What runs stays as it is; from now on replicas are placed by the new memory need and anti-affinity.'
  }
  if (rule?.spread_all) return 'Its rule starts a replica on every node that it is for.'
  const min = rule?.min_replicas ?? 0
  if (min === 0) return 'Its first request loads it.'
  return `Its rule starts ${min === 1 ? '1 replica' : `${min} replicas`}.`
}
