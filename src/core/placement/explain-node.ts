import { formatBytes } from '../lib/bytes.ts'
import { replicaKey } from '../lib/replica-key.ts'
import type { Node, Replica, World } from '../types.ts'
import { explainRefusal, type ExplainedRefusal } from './explain.ts'
import { Fleet } from './fleet.ts'
import { isRefusal, Judge } from './judge.ts'
import { needOf } from './need-of.ts'
import type { Room } from './room.ts'
import type { PlacePolicy } from './types.ts'

/** One memory: its size, what is taken of it, and what a further replica could have. */
export interface ExplainedRoom {
  total: number
  /** Null when it could never be read. */
  used: number | null
  /** Held for replicas that do not use it yet. */
  claimed: number
  free: number
}

/** What a node has left, and which models it would take. */
export interface NodeExplanation {
  /** The answer, and then its reasons. */
  text: string[]
  ram: ExplainedRoom | null
  devices: (ExplainedRoom & { index: number; name: string })[]
  models: {
    modelName: string
    replicas: { key: string; state: Replica['state'] }[]
    refusal: ExplainedRefusal | null
  }[]
}

/** Judges one more replica of each model on that node, without stopping anything for it. Undefined for an unknown node. */
export function explainNode(world: World, nodeId: string, policy: PlacePolicy): NodeExplanation | undefined {
  const fleet = new Fleet(world.nodes, world.replicas, world.models)
  const room = fleet.roomOf(nodeId)
  if (!room) return undefined
  const here = Map.groupBy(fleet.replicasOn(nodeId), ({ modelName }) => modelName)
  const models = world.models.map((model) => {
    const verdict = new Judge(needOf(world, model), fleet, policy).judge(room)
    return {
      modelName: model.name,
      replicas: (here.get(model.name) ?? []).map(({ replicaIndex, state }) => ({
        key: replicaKey(model.name, replicaIndex),
        state,
      })),
      refusal: isRefusal(verdict) ? explainRefusal(verdict) : null,
    }
  })
  const willing = models.filter(({ refusal }) => refusal === null).length
  return {
    text: textOf(room, willing, models.length),
    ram: ramOf(room),
    devices: room.node.devices.map(({ index, name }, position) => ({ index, name, ...deviceOf(room, position) })),
    models,
  }
}

function textOf(room: Room, willing: number, count: number): string[] {
  const { node } = room
  const reasons = reasonsAgainst(room)
  if (reasons.length > 0) return [`${node.name} takes no replicas now.`, ...reasons]
  if (count === 0) return [`${node.name} takes replicas; there is no model yet.`]
  const models = count === 1 ? '1 model' : `${count} models`
  const answer = `${node.name} takes replicas: of ${models} it could have a further one of ${willing}.`
  return [answer, ...budgetOf(room)]
}

/** What keeps every model away. */
function reasonsAgainst({ node, held }: Room): string[] {
  const reasons: string[] = []
  if (!node.approved) reasons.push('It waits for approval.')
  if (node.nodeType !== 'backend') reasons.push(`It is an ${node.nodeType}: it runs no replicas.`)
  if (node.desired === 'draining') reasons.push(`It is being drained: ${leftOn(held.map(({ replica }) => replica))}.`)
  const silence = silenceOf(node)
  if (silence) reasons.push(silence)
  return reasons
}

function leftOn(replicas: readonly Replica[]): string {
  if (replicas.length === 0) return 'nothing is left on it'
  const running = replicas.reduce((sum, { inFlight }) => sum + inFlight, 0)
  const count = replicas.length === 1 ? '1 replica is' : `${replicas.length} replicas are`
  return `${count} left on it, with ${running === 1 ? '1 request' : `${running} requests`}`
}

function silenceOf({ liveness, saidGoodbye, approved, isHeard }: Node): string | undefined {
  if (liveness === 'online') return undefined
  if (saidGoodbye) return 'It said goodbye: its worker has ended, and comes back when it is started again.'
  if (!isHeard) return approved ? 'It has not been heard yet.' : undefined
  return liveness === 'unreachable' ? 'It has missed several heartbeats.' : 'It is offline.'
}

function budgetOf({ node, vram }: Room): string[] {
  if (node.vramBudget === null) return []
  return [`Its VRAM budget is ${formatBytes(node.vramBudget)}, ${formatBytes(Math.max(0, vram))} of that are left.`]
}

function ramOf(room: Room): ExplainedRoom | null {
  const { totalRam, availableRam } = room.node
  if (totalRam === null) return null
  const used = availableRam === null ? null : Math.max(0, totalRam - availableRam)
  const claimed = room.held.reduce((sum, { holding }) => sum + Math.max(0, holding.pendingRam), 0)
  return { total: totalRam, used, claimed, free: Math.max(0, room.ram) }
}

function deviceOf(room: Room, position: number): ExplainedRoom {
  const { totalVram, availableVram, unified } = room.node.devices[position]!
  const used = availableVram === null ? null : Math.max(0, totalVram - availableVram)
  let claimed = 0
  for (const { holding } of room.held) {
    for (const one of holding.devices) if (one.position === position) claimed += Math.max(0, one.pending)
  }
  const most = Math.min(room.free[position]!, room.vram, unified ? room.ram : Infinity)
  return { total: totalVram, used, claimed, free: Math.max(0, most) }
}
