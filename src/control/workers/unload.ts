import type { StopTarget } from '../../api/bus/messages.ts'
import { replicaKey } from '../../core/lib/replica-key.ts'
import { endingState, isEnding } from '../../core/lifecycle/states.ts'
import { replacementsFor, type Replacements } from '../../core/reconcile/replacements.ts'
import type { Replica } from '../../core/types.ts'
import { AppError, messageOf } from '../../platform/errors.ts'
import type { NodeRow } from '../../store/nouns/nodes.ts'
import { deleteDemand, saveDemand } from '../../store/nouns/demands.ts'
import { moveReplica } from '../../store/nouns/replicas.ts'
import { loadWorld, type StoredWorld } from '../../store/world/world.ts'
import type { AdminDeps } from '../api/deps.ts'
import { neededNode } from '../views/node-view.ts'
import { askWorker } from './ask-worker.ts'
import { change, type Tell } from '../changes/change.ts'

/** A model that an admin loads is wanted until it serves, or for so long: its download may take hours. */
export const LOAD_WANTED_MS = 24 * 3_600_000

export type UnloadDeps = Pick<AdminDeps, 'db' | 'bus' | 'events' | 'log' | 'onChange'>

export interface UnloadOrder {
  modelName: string
  /** Without it all replicas of the model. */
  replicaIndex: number | undefined
  /** Do not let running requests finish first. */
  force: boolean
  /** How long the worker may take until they are gone; it goes on afterwards. */
  waitMs: number
  /** Only the replica with this id, which is to start again. */
  restarts?: string
  /** Looked at before anything is touched; throws to leave all as it is. */
  mayUnload?: (node: NodeRow, replacements: Replacements) => void
}

export interface Unloading {
  node: NodeRow
  /** `gone`: its process has ended, by the word of the worker. */
  replicas: { id: string; key: string; gone: boolean }[]
  keptByRule: boolean
  /** The model has other replicas that serve. */
  othersServe: boolean
  /** The worker got the command. Otherwise a later turn repeats it from the rows. */
  answered: boolean
}

/**
 * Stops replicas of a model on one node. The rows make it happen even if messages are lost; asking the worker as well makes
 * it happen now, and is the only way to know what is gone.
 */
export async function unload(deps: UnloadDeps, nodeId: string, order: UnloadOrder): Promise<Unloading> {
  const { node, world, matched, keptByRule, othersServe } = await change(deps, async (tx, tell) => {
    const node = await neededNode(tx, nodeId)
    // A waiting client is served by now, or its gateway repeats the demand within seconds.
    await deleteDemand(tx, order.modelName)
    const world = await loadWorld(tx)
    const matched = world.replicas.filter((replica) => replica.nodeId === nodeId && isMeant(replica, order))
    const replacements = replacementsFor(world, order.modelName, new Set(matched.map(({ id }) => id)))
    order.mayUnload?.(node, replacements)
    const moved = matched.filter(({ state }) => !isEnding(state))
    if (order.restarts !== undefined && moved.length === 0) throw alreadyEnding(order)
    const othersServe = world.replicas.some((one) => isOther(one, order, matched))
    // Without a rule only a demand starts it again. Where other replicas serve, the demand would start nothing, and nothing
    // would settle it.
    const isForgotten = order.restarts !== undefined && !replacements.wanted && !othersServe
    if (isForgotten) await saveDemand(tx, order.modelName, LOAD_WANTED_MS)
    for (const replica of moved) await moveReplica(tx, replica, { to: endingState(replica.state) })
    if (moved.length > 0) await tellUnloaded(tell, node, order, moved)
    return { node, world, matched, keptByRule: replacements.wanted, othersServe }
  })
  const told = await tellWorker(deps, node, order, fenceOf(world, matched))
  const stillThere = new Set(told?.filter(({ gone }) => !gone).map(({ id }) => id))
  const rows = matched.map((replica) => ({
    id: replica.id,
    key: keyOf(replica),
    // What the worker does not mention is not there.
    gone: told !== undefined && !stillThere.has(replica.id),
  }))
  const strays = told?.filter(({ id }) => !matched.some((replica) => replica.id === id)) ?? []
  const replicas = [...rows, ...strays.map(({ id, key, gone }) => ({ id, key, gone }))]
  return { node, replicas, keptByRule, othersServe, answered: told !== undefined }
}

function isMeant(replica: Replica, { modelName, replicaIndex, restarts }: UnloadOrder): boolean {
  if (restarts !== undefined) return replica.id === restarts
  return replica.modelName === modelName && (replicaIndex === undefined || replica.replicaIndex === replicaIndex)
}

function isOther(replica: Replica, { modelName }: UnloadOrder, matched: readonly Replica[]): boolean {
  return replica.modelName === modelName && replica.state === 'ready' && !matched.some(({ id }) => id === replica.id)
}

function alreadyEnding({ modelName, replicaIndex = 0 }: UnloadOrder): AppError {
  return new AppError('conflict', `${replicaKey(modelName, replicaIndex)} is being stopped already, or is gone.`)
}

/** Replicas that were started after this command are not affected. */
function fenceOf({ nowMs }: StoredWorld, matched: readonly Replica[]): number {
  return matched.length === 0 ? nowMs : Math.max(...matched.map(({ generation }) => generation))
}

async function tellUnloaded(tell: Tell, { id, name }: NodeRow, order: UnloadOrder, moved: Replica[]) {
  const { modelName, force, restarts } = order
  const keys = moved.map(keyOf)
  const verb = restarts === undefined ? 'unloaded' : 'restarted'
  const reason = `${keys.join(', ')} on ${name} ${keys.length === 1 ? 'is' : 'are'} ${verb}`
  await tell({ action: `replica.${verb}`, nodeId: id, modelName, reason, data: { keys, force } })
}

async function tellWorker(deps: UnloadDeps, node: NodeRow, order: UnloadOrder, fence: number) {
  const { modelName, replicaIndex, force, waitMs } = order
  const target: StopTarget =
    replicaIndex === undefined
      ? { what: 'model', model_name: modelName, not_after: fence }
      : { what: 'key', key: replicaKey(modelName, replicaIndex), not_after: fence }
  try {
    const { replicas } = await askWorker(deps, node, 'replicaStop', { target, force, wait_ms: waitMs }, waitMs)
    return replicas
  } catch (error) {
    deps.log.debug(
      { node: node.id, error: messageOf(error) },
      'control: the worker did not answer; the next turn repeats the command',
    )
    return undefined
  }
}

function keyOf({ modelName, replicaIndex }: Replica): string {
  return replicaKey(modelName, replicaIndex)
}
