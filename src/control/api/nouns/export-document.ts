import type { DocumentView } from '../../../api/admin/plan-schemas.ts'
import type { NodeSettings, Settings } from '../../../core/declare/types.ts'
import type { Model, Rule } from '../../../core/types.ts'

/** All that people have set, as a document that changes nothing here. Defaults are left out. */
export function exportDocument({ models, rules, nodes }: Settings): DocumentView {
  return { models: models.map(writeModel), rules: rules.map(writeRule), nodes: nodes.flatMap(writeNode) }
}

function writeModel({ name, engine, source, options, memory, antiAffinity }: Model): DocumentView['models'][number] {
  return {
    name,
    engine,
    ...(source === null ? {} : { source }),
    ...(isEmpty(options) ? {} : { options }),
    ...(memory ? { memory: { vram: writeSize(memory.vram), ram: writeSize(memory.ram) } } : {}),
    ...(antiAffinity === null ? {} : { anti_affinity: antiAffinity }),
  }
}

/** In whole units where that is exact. */
function writeSize(bytes: number): string | number {
  const unit = bytes === 0 ? undefined : UNITS.find(({ size }) => bytes % size === 0)
  return unit ? `${bytes / unit.size}${unit.name}` : bytes
}

const UNITS = [
  { name: 'GiB', size: 2 ** 30 },
  { name: 'MiB', size: 2 ** 20 },
  { name: 'GB', size: 1e9 },
  { name: 'MB', size: 1e6 },
] as const

function writeRule(rule: Rule): DocumentView['rules'][number] {
  const { modelName, spreadAll, minReplicas, maxReplicas, nodeSelector, scaleToZeroAfterMs: idleMs, routePolicy } = rule
  return {
    model_name: modelName,
    ...(spreadAll ? { spread_all: true } : {}),
    ...(minReplicas === 0 ? {} : { min_replicas: minReplicas }),
    ...(maxReplicas === 0 ? {} : { max_replicas: maxReplicas }),
    ...(isEmpty(nodeSelector) ? {} : { node_selector: { ...nodeSelector } }),
    ...(idleMs === null ? {} : { scale_to_zero_after_s: idleMs / 1000 }),
    ...(routePolicy === 'least_loaded' ? {} : { route_policy: routePolicy }),
  }
}

/** Those on which nothing is set are not listed. */
function writeNode({ name, overrides }: NodeSettings): DocumentView['nodes'] {
  const { labels, slots, budget, isDraining } = overrides
  const set = {
    ...(isEmpty(labels) ? {} : { labels: { ...labels } }),
    ...(slots === null ? {} : { max_replicas_per_model: slots }),
    ...(budget === null ? {} : { vram_budget: budget }),
    ...(isDraining ? { drain: true } : {}),
  }
  return isEmpty(set) ? [] : [{ name, ...set }]
}

function isEmpty(fields: object): boolean {
  return Object.keys(fields).length === 0
}
