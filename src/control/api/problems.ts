import type { Problem } from '../../api/admin/cluster-schemas.ts'
import type { RuleView } from '../../api/admin/rule-schemas.ts'
import { replicaKey } from '../../core/lib/replica-key.ts'
import { massLoss } from '../../core/nodes/mass-loss.ts'
import { statusOf } from '../../core/nodes/status.ts'
import { explainModel } from '../../core/placement/explain.ts'
import type { PlacePolicy } from '../../core/placement/types.ts'
import type { StoredWorld } from '../../store/world.ts'

/** What would help is found out for so many rules: each takes a look at every node. */
const MOST_ADVISED = 20
/** Engines may say a lot; the first line of it says what matters, and the row has all. */
const MOST_ERROR_CHARS = 300

/** What is wrong and why, the worst first: a network that broke, what is asked for and missing, then what only waits. */
export function problemsOf(world: StoredWorld, rules: readonly RuleView[], policy: PlacePolicy): Problem[] {
  const all = [...frozen(world), ...unmet(world, rules, policy), ...failed(world), ...silent(world), ...pending(world)]
  return all.toSorted((a, b) => rankOf(a) - rankOf(b))
}

function rankOf({ severity }: Problem): number {
  return severity === 'error' ? 0 : 1
}

const about = { node_name: null, model_name: null, advice: null } as const

function frozen({ nodes, lossAcceptedMs }: StoredWorld): Problem[] {
  const lost = massLoss(nodes, lossAcceptedMs).map(({ name }) => name)
  if (lost.length === 0) return []
  const text = `${lost.length} nodes went silent together: nothing on them is given up or replaced, nor anything evicted, until they are back`
  return [
    {
      ...about,
      kind: 'frozen',
      severity: 'error',
      text,
      advice: 'look at the network between them; if they are really lost: flotilla nodes accept-loss',
    },
  ]
}

function unmet(world: StoredWorld, rules: readonly RuleView[], policy: PlacePolicy): Problem[] {
  const bad = rules.filter(({ state }) => state === 'unmet' || state === 'cooling')
  return bad.map(({ model_name: name, wanted, ready, reason }, i) => {
    const known = i < MOST_ADVISED ? explainModel(world, name, policy)?.advice[0] : undefined
    const why = reason === null ? '' : `: ${reason.replace(/ What would help: .*$/s, '')}`
    const text = `${ready} of ${wanted} replicas serve${why}`
    return { ...about, kind: 'rule', severity: 'error', model_name: name, text, advice: known ?? null }
  })
}

function failed({ replicas, nodes }: StoredWorld): Problem[] {
  const names = new Map(nodes.map(({ id, name }) => [id, name]))
  return replicas
    .filter(({ state }) => state === 'failed')
    .map(({ modelName, replicaIndex, nodeId, error, failures }) => {
      const [line = ''] = (error ?? '').trim().split('\n', 1)
      const times = failures > 1 ? ` (${failures} times)` : ''
      const text = `${replicaKey(modelName, replicaIndex)} failed${times}: ${line.slice(0, MOST_ERROR_CHARS) || 'it does not say why'}`
      const where = { node_name: names.get(nodeId) ?? nodeId, model_name: modelName }
      return { ...about, kind: 'replica', severity: 'error', ...where, text }
    })
}

/** A node that said goodbye, or that nobody has let in, is no trouble. */
function silent({ nodes, replicas }: StoredWorld): Problem[] {
  return nodes
    .filter(({ approved, liveness, saidGoodbye }) => approved && liveness !== 'online' && !saidGoodbye)
    .map((node) => {
      const count = replicas.filter(({ nodeId }) => nodeId === node.id).length
      const held = count === 0 ? '' : `, with ${count} ${count === 1 ? 'replica' : 'replicas'}`
      const isGone = node.liveness === 'offline'
      const text = isGone ? `offline${held}` : `has missed several heartbeats${held}`
      return { ...about, kind: 'node', severity: isGone ? 'error' : 'warning', node_name: node.name, text }
    })
}

function pending({ nodes }: StoredWorld): Problem[] {
  return nodes
    .filter((node) => statusOf(node) === 'pending')
    .map(({ name }) => {
      const advice = `approve ${name}`
      return { ...about, kind: 'approval', severity: 'warning', node_name: name, text: 'waits for approval', advice }
    })
}
