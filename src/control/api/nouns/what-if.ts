import type { WhatIfInput } from '../../../api/admin/plan-schemas.ts'
import { ruleInput } from '../../../api/admin/rule-schemas.ts'
import { declaredPart, diffDocument } from '../../../core/declare/diff-document.ts'
import { imagineNode, NODE_SPECS } from '../../../core/declare/imagine-node.ts'
import type { Change, Settings } from '../../../core/declare/types.ts'
import { toRule } from '../../../core/declare/world-after.ts'
import type { Imagined } from '../../../core/declare/world-if.ts'
import { nearNames } from '../../../core/lib/near-names.ts'
import { labelProblem } from '../../../core/nodes/labels.ts'
import type { Node, Rule, World } from '../../../core/types.ts'
import { AppError } from '../../../platform/errors.ts'
import { toSettings } from '../../changes/rule-settings.ts'

/** The question, as decisions see it. A bad value is refused with the name of its field. */
export function imagine(
  settings: Settings,
  world: World,
  input: WhatIfInput,
): { imagined: Imagined; changes: Change[] } {
  const lost = input.node_lost.map((name, i) => findNode(world, name, `node_lost.${i}`))
  const drained = input.drain.map((name, i) => findNode(world, name, `drain.${i}`))
  const added = addNodes(world, input.add_nodes)
  const rules = input.rules.map((asked, i) => ruleFor(world, asked, `rules.${i}`))
  const nodes = drained.map(({ name }) => ({ name, isDraining: true }))
  const wanted = { models: [], rules: rules.map(declaredPart), nodes }
  const changes: Change[] = [
    ...lost.map(({ name }) => ({ noun: 'machine' as const, name, is: 'lost' as const })),
    ...added.map(({ name }) => ({ noun: 'machine' as const, name, is: 'added' as const })),
    ...diffDocument(settings, wanted, { prune: false }),
  ]
  const idsOf = (nodes: readonly Node[]): Set<string> => new Set(nodes.map(({ id }) => id))
  return { imagined: { lost: idsOf(lost), drained: idsOf(drained), added, rules }, changes }
}

function findNode({ nodes }: World, wanted: string, param: string): Node {
  const found = nodes.find(({ name }) => name === wanted)
  if (found) return found
  throw refusal(param, `there is no node "${wanted}"${hint(wanted, nodes)}`)
}

function addNodes(world: World, ideas: WhatIfInput['add_nodes']): Node[] {
  const taken = new Set(world.nodes.map(({ name }) => name))
  return ideas.map(({ spec, name: given, labels }, i) => {
    const name = given ?? freeName(taken)
    if (taken.has(name)) throw refusal(`add_nodes.${i}.name`, `there is a node "${name}" already`)
    taken.add(name)
    const [problem] = Object.entries(labels).flatMap(([key, value]) => labelProblem(key, value) ?? [])
    if (problem !== undefined) throw refusal(`add_nodes.${i}.labels`, problem)
    const node = imagineNode(world, { spec, name, labels })
    if (!node) throw refusal(`add_nodes.${i}.spec`, `"${spec}" is no machine: ${NODE_SPECS}`)
    return node
  })
}

function freeName(taken: ReadonlySet<string>): string {
  for (let i = 1; ; i += 1) if (!taken.has(`new-${i}`)) return `new-${i}`
}

/** A minimum above the rule's maximum raises the maximum; a minimum or maximum turns `spread_all` off. */
function ruleFor({ models, rules }: World, asked: WhatIfInput['rules'][number], param: string): Rule {
  const name = asked.model_name
  if (!models.some((model) => model.name === name)) {
    throw refusal(`${param}.model_name`, `there is no model "${name}"${hint(name, models)}`)
  }
  const before = rules.find(({ modelName }) => modelName === name)
  const hasCount = asked.min_replicas !== undefined || asked.max_replicas !== undefined
  const spread = asked.spread_all ?? (hasCount ? false : (before?.spreadAll ?? false))
  const min = asked.min_replicas ?? (spread ? 0 : (before?.minReplicas ?? 0))
  const most = spread ? 0 : (before?.maxReplicas ?? 0)
  const max = asked.max_replicas ?? (most === 0 ? 0 : Math.max(most, min))
  const idleMs = min > 0 || spread ? null : (before?.scaleToZeroAfterMs ?? null)
  const { data, error } = ruleInput.safeParse({
    model_name: name,
    min_replicas: min,
    max_replicas: max,
    spread_all: spread,
    node_selector: asked.node_selector ?? before?.nodeSelector ?? {},
    route_policy: before?.routePolicy ?? 'least_loaded',
    scale_to_zero_after_s: idleMs === null ? null : idleMs / 1000,
  })
  if (data) return toRule(declaredPart(toSettings(data, 'api')), before)
  const { path, message } = error.issues[0]!
  throw refusal([param, ...path].join('.'), message)
}

function hint(wanted: string, all: readonly { name: string }[]): string {
  const near = nearNames(
    wanted,
    all.map(({ name }) => name),
  )
  return near.length > 0 ? `; did you mean ${near.join(' or ')}?` : ''
}

function refusal(param: string, what: string): AppError {
  return new AppError('bad_request', `${param}: ${what}${what.endsWith('?') ? '' : '.'}`, { details: { param } })
}
