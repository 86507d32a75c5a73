import { replicaKey } from '../lib/replica-key.ts'
import { mayFitLater } from '../placement/may-fit-later.ts'
import { isServedOn } from '../nodes/availability.ts'
import type { PlacePolicy } from '../placement/types.ts'
import type { Plan } from '../reconcile/plan.ts'
import { Memory } from '../reconcile/memory.ts'
import { reconcile } from '../reconcile/reconcile.ts'
import { MOST_REFUSALS } from '../reconcile/searches.ts'
import { routableReplicas } from '../routing/table.ts'
import type { Model, Replica } from '../types.ts'
import { failureText } from './failure-text.ts'
import { loadingOf, waitingFor } from './loading.ts'
import { isOnTheWay } from '../lifecycle/states.ts'
import { summarise } from './refusal-summary.ts'
import type { Loading, LoadStatus, ToldReplica, ToldWorld } from './types.ts'

/**
 * How far a model is on its way to a ready replica, and what keeps it. What comes next is what the next turn will do: `plan`,
 * when the last turn knew already that it is wanted, and else worked out. Pure.
 */
export function loadStatusOf(world: ToldWorld, modelName: string, policy: PlacePolicy, plan?: Plan): LoadStatus {
  const model = world.models.find(({ name }) => name === modelName)
  if (!model) return { ...nothing, state: 'unknown', reason: `There is no model "${modelName}".` }
  const mine = world.replicas.filter((one) => one.modelName === modelName && one.revision === model.revision)
  const others = { models: [model], nodes: world.nodes, rules: world.rules }
  if (routableReplicas(others.models, others.nodes, mine, others.rules).length > 0)
    return { ...nothing, state: 'ready' }
  const loading = loadingOf(
    world,
    model,
    mine.filter((one) => isOnTheWay(one.state) && willServe(world, one)),
  )
  if (loading) return { ...nothing, state: 'loading', loading }
  const memory = new Memory({ mostRefusals: MOST_REFUSALS })
  return unplaced(world, model, mine, plan ?? reconcile(world, policy, memory))
}

const nothing = { loading: null, reason: null, next_attempt_at: null } as const satisfies Partial<LoadStatus>

/** On a node that is gone or being emptied, or no longer among those that the rule asks for, it will serve nobody. */
function willServe({ nodes, rules }: ToldWorld, { nodeId, modelName }: Replica): boolean {
  const node = nodes.find(({ id }) => id === nodeId)
  const selector = rules.find((rule) => rule.modelName === modelName)?.nodeSelector ?? {}
  return node !== undefined && isServedOn(selector, node)
}

/** No replica of it is on its way: by what the next turn would do. */
function unplaced(world: ToldWorld, model: Model, mine: readonly ToldReplica[], plan: Plan): LoadStatus {
  const { name } = model
  const wait = (reason: string, nextAttemptAt: number | null = null): LoadStatus => {
    const loading: Loading = waitingFor(name)
    return { state: 'waiting', loading, reason, next_attempt_at: nextAttemptAt }
  }
  const forgotten = new Set(plan.steps.flatMap((step) => (step.kind === 'forget' ? [step.replica.id] : [])))
  const failed = mine.filter(({ state }) => state === 'failed')
  const told = failed.length === 0 ? '' : `${describeFailure(world, newest(failed))} `

  const next = plan.steps.find((step) => step.kind === 'reserve' && step.modelName === name)
  if (next?.kind === 'reserve') return wait(`${told}It is placed on ${nodeName(world, next.nodeId)} now.`)
  const room = plan.waiting.find((one) => one.modelName === name)
  if (room) return wait(`${told}${describeWait(world, room)}`)

  if (plan.untried.includes(name)) return wait(`${told}Very many models wait for room: its turn to be placed comes.`)

  const remembered = failed.filter(({ id }) => !forgotten.has(id))
  const unmet = plan.unmet.find((one) => one.modelName === name)
  const retryAtMs = unmet ? earliest(remembered) : null
  if (unmet?.isBusy) {
    const reason = 'It waits for room: other models are in use, or were loaded only just now.'
    return wait(`${told}${reason}`, retryAtMs)
  }
  // Nobody asks for it, and whoever does next starts it again.
  const isOver = !unmet && remembered.some(({ retryAtMs: at }) => (at ?? 0) <= world.nowMs)
  if (isOver) return { ...nothing, state: 'stopped', reason: `${told}Its next request tries it again.` }
  if (remembered.length > 0) {
    return {
      ...nothing,
      state: 'failed',
      reason: failureReason(world, newest(remembered), unmet),
      next_attempt_at: retryAtMs,
    }
  }
  if (unmet) {
    const reason = summarise(unmet.refusals, unmet.advice)
    return { ...nothing, state: 'refused', reason, ...(mayFitLater(world, model) ? {} : { is_final: true }) }
  }
  return { ...nothing, state: 'stopped', reason: 'Nobody asks for it: its first request loads it.' }
}

function describeWait(world: ToldWorld, { nodeId, waitsFor }: Plan['waiting'][number]): string {
  const names = waitsFor.map(({ modelName, replicaIndex }) => replicaKey(modelName, replicaIndex))
  const where = nodeName(world, nodeId)
  if (names.length === 0)
    return `It waits for the next reading of the memory of ${where}: what ended there has just made room.`
  return `It waits for room on ${where}: ${names.join(', ')} must have ended first.`
}

/** The cause, where to read more, and what the other nodes say. */
function failureReason(world: ToldWorld, replica: ToldReplica, unmet: Plan['unmet'][number] | undefined): string {
  const hint = `"flotilla logs ${replicaKey(replica.modelName, replica.replicaIndex)}" shows more.`
  const elsewhere = unmet?.refusals.filter(({ filter }) => filter !== 'failing') ?? []
  const rest = elsewhere.length === 0 ? '' : ` ${summarise(elsewhere, unmet!.advice)}`
  return `${describeFailure(world, replica)} ${hint}${rest}`
}

function describeFailure(world: ToldWorld, { nodeId, error }: Replica): string {
  const cause = failureText(error) || 'it does not say why'
  return `It could not be started on ${nodeName(world, nodeId)}: ${cause}${/[.!?]$/.test(cause) ? '' : '.'}`
}

/** Generations grow with the time. */
function newest(replicas: readonly ToldReplica[]): ToldReplica {
  return replicas.toSorted((a, b) => b.generation - a.generation)[0]!
}

function earliest(replicas: readonly Replica[]): number | null {
  const times = replicas.flatMap(({ retryAtMs }) => retryAtMs ?? [])
  return times.length === 0 ? null : Math.min(...times)
}

function nodeName({ nodes }: ToldWorld, nodeId: string): string {
  return nodes.find(({ id }) => id === nodeId)?.name ?? nodeId
}
