import type { StopTarget } from '../api/bus/messages.ts'
import { replicaKey } from '../core/lib/replica-key.ts'
import { endingState, isEnding } from '../core/lifecycle/states.ts'
import { replacementsFor, type Replacements } from '../core/reconcile/replacements.ts'
import type { Replica } from '../core/types.ts'
import { messageOf } from '../platform/errors.ts'
import type { NodeRow } from '../store/nodes.ts'
import { deleteDemand } from '../store/demands.ts'
import { moveReplica } from '../store/replicas.ts'
import { loadWorld, type StoredWorld } from '../store/world.ts'
import type { AdminDeps } from './api/deps.ts'
import { neededNode } from './api/node-view.ts'
import { askWorker } from './ask-worker.ts'
import { change, type Tell } from './change.ts'

export type UnloadDeps = Pick<AdminDeps, 'db' | 'bus' | 'events' | 'log' | 'onChange'>

export interface UnloadOrder {
  modelName: string
  /** Without it all replicas of the model. */
  replicaIndex: number | undefined
  /** Do not let running requests finish first. */
  force: boolean
  /** How long the worker may take until they are gone; it goes on afterwards. */
  waitMs: number
  /** Looked at before anything is touched; throws to leave all as it is. */
  mayUnload?: (node: NodeRow, replacements: Replacements) => void
}

export interface Unloading {
  node: NodeRow
  /** `gone`: its process has ended, by the word of the worker. */
  replicas: { id: string; key: string; gone: boolean }[]
  keptByRule: boolean
  /** The worker was there to hear of it. Where it was not, the rows will tell it. */
  answered: boolean
}

/**
 * Stops replicas of a model on one node. The rows are what makes it happen, however often messages are lost; asking the
 * worker as well makes it happen now, and is the only way to know what is gone.
 */
export async function unload(deps: UnloadDeps, nodeId: string, order: UnloadOrder): Promise<Unloading> {
  const { node, world, matched, keptByRule } = await change(deps, async (tx, tell) => {
    const node = await neededNode(tx, nodeId)
    // Who waited for it is served by now, or says again within seconds that it waits.
    await deleteDemand(tx, order.modelName)
    const world = await loadWorld(tx)
    const matched = world.replicas.filter((replica) => replica.nodeId === nodeId && isMeant(replica, order))
    const replacements = replacementsFor(world, order.modelName, new Set(matched.map(({ id }) => id)))
    order.mayUnload?.(node, replacements)
    const moved = matched.filter(({ state }) => !isEnding(state))
    for (const replica of moved) await moveReplica(tx, replica, { to: endingState(replica.state) })
    if (moved.length > 0) await tellUnloaded(tell, node, order, moved)
    return { node, world, matched, keptByRule: replacements.wanted }
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
  return { node, replicas, keptByRule, answered: told !== undefined }
}

function isMeant(replica: Replica, { modelName, replicaIndex }: UnloadOrder): boolean {
  return replica.modelName === modelName && (replicaIndex === undefined || replica.replicaIndex === replicaIndex)
}

/** Whatever was started after this order was given is not meant by it. */
function fenceOf({ nowMs }: StoredWorld, matched: readonly Replica[]): number {
  return matched.length === 0 ? nowMs : Math.max(...matched.map(({ generation }) => generation))
}

async function tellUnloaded(tell: Tell, { id, name }: NodeRow, { modelName, force }: UnloadOrder, moved: Replica[]) {
  const keys = moved.map(keyOf)
  const reason = `${keys.join(', ')} on ${name} ${keys.length === 1 ? 'is' : 'are'} unloaded`
  await tell({ actor: 'admin', action: 'replica.unloaded', nodeId: id, modelName, reason, data: { keys, force } })
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
    deps.log.debug({ node: node.id, error: messageOf(error) }, 'control: the worker will hear of it from the rows')
    return undefined
  }
}

function keyOf({ modelName, replicaIndex }: Replica): string {
  return replicaKey(modelName, replicaIndex)
}
