import { Fleet } from '../../src/core/placement/fleet.ts'
import { needOf } from '../../src/core/placement/need-of.ts'
import { place } from '../../src/core/placement/place.ts'
import type { DeviceBytes, Freed, Node, World } from '../../src/core/types.ts'
import type { Cluster } from '../cluster.ts'
import { bytesOn } from '../machine-memory.ts'
import type { AppliedPlan } from './applied-plan.ts'
import type { Check } from './check.ts'

/** Control waits a little longer for a reading. */
const AWAITED_MS = 25_000
/** Of the last of them one knows what they held. */
const MOST_ENDING = 1000

interface Ending extends Freed {
  nodeId: string
  sinceMs: number
}

/**
 * What was stopped for a model counts as room that comes, until a reading of the memory that began after its end: nothing
 * else is stopped for it meanwhile. When a process ended and when a reading began is known here from the machines.
 */
export function evictionsAreNeeded(cluster: Cluster): Check {
  const { store, queue, health, settings } = cluster
  const ending = new Map<string, Ending>()
  return {
    name: 'room (no more is evicted than needed)',
    onCommit({ moved }) {
      for (const { before, after } of moved) {
        const { id, nodeId } = before
        if (after?.state !== 'draining' && after?.state !== 'stopping') continue
        if (ending.size >= MOST_ENDING) ending.delete(ending.keys().next().value!)
        if (!ending.has(id)) ending.set(id, { nodeId, sinceMs: queue.nowMs, ...leastHeld(id) })
      }
      return undefined
    },
    onPlan({ before, plan }: AppliedPlan) {
      const evicted = plan.steps.flatMap((step) => (step.kind === 'evict' ? [step] : []))
      for (const [nodeId, here] of Map.groupBy(evicted, ({ replica }) => replica.nodeId)) {
        const [{ forModel } = { forModel: '' }] = here
        // Where others come as well, they take of the room.
        const isShared =
          here.some((step) => step.forModel !== forModel) ||
          plan.steps.some((step) => step.kind === 'reserve' && step.nodeId === nodeId) ||
          plan.waiting.some((one) => one.nodeId === nodeId && one.modelName !== forModel)
        const freed = isShared ? [] : comingOn(nodeId, before)
        if (freed.length === 0) continue
        const needed = victimsFor(
          forModel,
          nodeId,
          here.map(({ replica }) => replica.id),
          freed,
          before,
        )
        if (needed === undefined || needed >= here.length) continue
        const names = here.map(({ replica }) => replica.modelName).join(', ')
        const gone = freed.map(({ replicaId }) => replicaId).join(', ')
        return `${here.length} (${names}) evicted on ${nodeId} for ${forModel} where ${needed} would do: what ${gone} held comes`
      }
      return undefined
    },
  }

  /** By the rows of what ended lately, by its process, and by the reading that the node's row has. */
  function comingOn(nodeId: string, { replicas }: World): Freed[] {
    const machine = cluster.machineOfNode(nodeId)
    const [row] = store.read('select heartbeat_seq, boot_id from nodes where id = $1', [nodeId])
    const begunMs = machine?.readings.get(`${row?.['boot_id']} ${row?.['heartbeat_seq']}`)
    if (!machine || begunMs === undefined) return []
    const there = new Set(replicas.map(({ id }) => id))
    const calmMs = Math.max(health.calmSinceMs(machine.name), health.controlCalmSinceMs())
    return [...ending.values()].filter(({ replicaId, nodeId: of, sinceMs }) => {
      const endedMs = machine.endedMs.get(replicaId)
      if (of !== nodeId || there.has(replicaId) || endedMs === undefined) return false
      return endedMs > begunMs && queue.nowMs - endedMs < AWAITED_MS && sinceMs > calmMs
    })
  }

  /** The smaller of what was claimed and seen. */
  function leastHeld(replicaId: string): Freed {
    const [row] = store.read('select claim, measured from replicas where id = $1', [replicaId])
    const claim = readJson(row?.['claim'])
    const measured = readJson(row?.['measured'])
    const devices = (claim?.devices ?? []).map(({ index, bytes }) => ({
      index,
      bytes: measured?.devices ? Math.min(bytes, bytesOn(measured.devices, index)) : bytes,
    }))
    return { replicaId, devices, ram: Math.min(claim?.ram ?? 0, measured?.ram ?? Infinity) }
  }

  /** How few of these would do, on a node of which all that has ended could be read as free. */
  function victimsFor(
    modelName: string,
    nodeId: string,
    ids: readonly string[],
    freed: readonly Freed[],
    before: World,
  ): number | undefined {
    const model = before.models.find(({ name }) => name === modelName)
    const node = before.nodes.find(({ id }) => id === nodeId)
    if (!model || !node) return undefined
    const fleet = new Fleet([{ ...node, freed } satisfies Node], before.replicas, before.models)
    const evictable = new Map(ids.map((id) => [id, 0]))
    const placement = place(needOf(before, model), fleet, { policy: settings.policy, evictable })
    return placement.ok ? placement.victims.length : undefined
  }
}

function readJson(text: unknown): { devices: DeviceBytes[] | null; ram: number } | undefined {
  return typeof text === 'string' ? (JSON.parse(text) as { devices: DeviceBytes[] | null; ram: number }) : undefined
}
