import { replicaKey } from '../lib/replica-key.ts'
import { massLoss } from '../nodes/mass-loss.ts'
import { statusOf } from '../nodes/status.ts'
import { REFUSED_LATELY_MS } from '../nodes/refused-run.ts'
import { failureText } from './failure-text.ts'
import type { Problem, RuleStanding, ToldWorld } from './types.ts'

/** Engines may say a lot; the first line of it says what matters, and the row has all. */
const MOST_ERROR_CHARS = 300

/** What would help a model that found no room, if anything is known: finding it out takes a look at every node. */
export type Advise = (world: ToldWorld, modelName: string) => string | null

/**
 * What is wrong and why. What `standing` says of the frontend comes first, because it says how far the rest can be believed;
 * then the worst first: a network that broke, what is missing, what waits.
 */
export function problemsOf(
  world: ToldWorld,
  rules: readonly RuleStanding[],
  advise: Advise,
  standing: readonly Problem[],
): Problem[] {
  const failures = failed(world)
  const seen = [
    ...frozen(world),
    ...unmet(world, rules, advise).map((one) => withoutCause(one, failures)),
    ...failures,
    ...doubled(world),
    ...silent(world),
    ...pending(world),
  ]
  return [...worstFirst(standing), ...worstFirst(seen)]
}

function worstFirst(problems: readonly Problem[]): Problem[] {
  return problems.toSorted((a, b) => rankOf(a) - rankOf(b))
}

function rankOf({ severity }: Problem): number {
  return severity === 'error' ? 0 : 1
}

const about = { node_id: null, node_name: null, key: null, model_name: null, advice: null } as const

function frozen({ nodes, lossAcceptedMs }: ToldWorld): Problem[] {
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

function unmet(world: ToldWorld, rules: readonly RuleStanding[], advise: Advise): Problem[] {
  const bad = rules.filter(({ state }) => state === 'unmet' || state === 'cooling')
  return bad.map(({ model_name: name, wanted, ready, reason }) => {
    const why = reason === null ? '' : `: ${reason.replace(/ What would help: .*$/s, '')}`
    const text = `${ready} of ${wanted} replicas serve${why}`
    return { ...about, kind: 'rule', severity: 'error', model_name: name, text, advice: advise(world, name) }
  })
}

function failed({ replicas, nodes }: ToldWorld): Problem[] {
  const names = new Map(nodes.map(({ id, name }) => [id, name]))
  return replicas
    .filter(({ state }) => state === 'failed')
    .map(({ modelName, replicaIndex, nodeId, error, failures }) => {
      const times = failures > 1 ? ` (${failures} times)` : ''
      const key = replicaKey(modelName, replicaIndex)
      const text = `${key} failed${times}: ${failureText(error).slice(0, MOST_ERROR_CHARS) || 'it does not say why'}`
      const where = { node_id: nodeId, node_name: names.get(nodeId) ?? nodeId, key, model_name: modelName }
      return { ...about, kind: 'replica', severity: 'error', ...where, text }
    })
}

/** A second process with the key of a node keeps trying. */
function doubled({ nodes, nowMs }: ToldWorld): Problem[] {
  return nodes.flatMap((node) => {
    const { id, name, address, refused } = node
    if (!refused || nowMs - refused.atMs > REFUSED_LATELY_MS) return []
    const text = `a second process with the key of ${name}, at ${refused.address}, is refused: ${name} is connected from ${address}`
    const advice = `if the machine was cloned, delete node.seed in the worker's data folder at ${refused.address} and start it again`
    return [{ ...about, kind: 'node', severity: 'error', node_id: id, node_name: name, text, advice }]
  })
}

/** The cause of one mistake is told once: where the replica failed, with how often. The rule that is unmet for it names the replica. */
function withoutCause(problem: Problem, failures: readonly Problem[]): Problem {
  const { text, model_name: name } = problem
  for (const failure of failures) {
    const cause = failure.text.slice(failure.text.indexOf(': ') + 2)
    const at = failure.model_name === name ? text.indexOf(cause) : -1
    if (at >= 0) return { ...problem, text: `${text.slice(0, text.indexOf(': '))}: ${failure.key} failed` }
  }
  return problem
}

/** A node that said goodbye, or that nobody has let in, is no trouble. */
function silent({ nodes, replicas }: ToldWorld): Problem[] {
  return nodes
    .filter(({ approved, liveness, saidGoodbye }) => approved && liveness !== 'online' && !saidGoodbye)
    .map((node) => {
      const count = replicas.filter(({ nodeId }) => nodeId === node.id).length
      const held = count === 0 ? '' : `, with ${count} ${count === 1 ? 'replica' : 'replicas'}`
      const isGone = node.liveness === 'offline'
      const text = isGone ? `offline${held}` : `has missed several heartbeats${held}`
      const where = { node_id: node.id, node_name: node.name }
      return { ...about, kind: 'node', severity: isGone ? 'error' : 'warning', ...where, text }
    })
}

function pending({ nodes }: ToldWorld): Problem[] {
  return nodes
    .filter((node) => statusOf(node) === 'pending')
    .map(({ id, name }) => {
      const where = { node_id: id, node_name: name }
      const advice = `approve ${name}`
      return { ...about, kind: 'approval', severity: 'warning', ...where, text: 'waits for approval', advice }
    })
}
