import type { Sent, End } from '../clients/traffic.ts'
import type { Cluster } from '../cluster.ts'
import type { Machine } from '../machine/machine.ts'
import { takenBy } from '../model-kinds.ts'
import type { Check } from './check.ts'
import { isMeant, labelsOf } from './meant.ts'

/** So long a gateway waits for a load; four times as long as the longest takes. */
const LOAD_WAIT_MS = 60_000
/** Only clear cases are judged: with this much of a machine to spare. */
const ROOMY = 0.8

interface ModelRow {
  engine: string
  options: string
  memory: string | null
  updated_at: number
}

/**
 * A request waits only while there is a reason: who waited for a load and was sent away finds no node that was there all
 * along, could hold the model and had nothing else to do.
 */
export function waitsHaveAReason(cluster: Cluster): Check {
  const { store, queue, health, machines, settings } = cluster
  const { mirror } = store
  /** When a row of the model was last on the node, or changed, by both. */
  const touchedMs = new Map<string, Map<string, number>>()
  /** When a node was last another: approved, drained, silent, with other slots. */
  const nodeMs = new Map<string, number>()
  /** When a start of the model last failed, or a replica of it ended. */
  const upsetMs = new Map<string, number>()

  const touch = (nodeId: string, modelName: string): void => {
    const ofNode = touchedMs.get(nodeId) ?? new Map<string, number>()
    touchedMs.set(nodeId, ofNode.set(modelName, queue.nowMs))
  }
  /** What is lost on its way to control, or with it, is said again in the next heartbeat. */
  const heardFromMs = (sinceMs: number): number => sinceMs - settings.heartbeatPeriodMs
  const isUpset = (modelName: string, sinceMs: number): boolean => {
    if ((upsetMs.get(modelName) ?? 0) >= sinceMs) return true
    // One that is on its way to a node in trouble takes its time, and no second one is loaded.
    const rows = [...mirror.replicas.values()].filter((row) => row.modelName === modelName)
    return rows.some(({ nodeId, state }) => {
      const machine = cluster.machineOfNode(nodeId)
      return state === 'failed' || !machine || health.calmSinceMs(machine.name) >= heardFromMs(sinceMs)
    })
  }
  const isIdle = (machine: Machine, modelName: string, sinceMs: number): boolean => {
    const { nodeId } = machine
    if (nodeId === undefined || !machine.hasProgram || !machine.worker?.isJoined) return false
    if (health.calmSinceMs(machine.name) >= sinceMs || (nodeMs.get(nodeId) ?? Infinity) >= sinceMs) return false
    if ((mirror.labelledMs.get(nodeId) ?? 0) >= sinceMs) return false
    if (mirror.replicasOf(nodeId).some((row) => row.modelName !== modelName)) return false
    return [...(touchedMs.get(nodeId) ?? [])].every(([name, atMs]) => name === modelName || atMs < sinceMs)
  }
  const isAllowed = (nodeId: string, modelName: string, sinceMs: number): boolean => {
    const node = mirror.nodes.get(nodeId)
    if (!node?.approved || node.desired !== 'active' || node.liveness !== 'online') return false
    const budgets = store.read('select 1 as one from nodes where id = $1 and vram_budget_override is not null', [
      nodeId,
    ])
    const [rule] = store.read<{ node_selector: string; updated_at: number }>(
      'select node_selector, updated_at from rules where model_name = $1',
      [modelName],
    )
    if (budgets.length > 0 || (rule && rule.updated_at >= sinceMs)) return false
    return isMeant(rule?.node_selector ?? '{}', labelsOf(store, nodeId))
  }

  return {
    name: 'waiting (a request waits only with a reason)',
    onCommit({ inserted, moved, nodes }) {
      for (const { nodeId, modelName } of inserted) touch(nodeId, modelName)
      for (const { before, after } of moved) {
        touch(before.nodeId, before.modelName)
        if (!after || ['failed', 'draining', 'stopping'].includes(after.state)) {
          upsetMs.set(before.modelName, queue.nowMs)
        }
      }
      for (const { before, after } of nodes) nodeMs.set((after ?? before)!.id, queue.nowMs)
      return undefined
    },
    onEnded({ asked, sentMs, gateway, response }: Sent, end: End) {
      const waitedMs = queue.nowMs - sentMs
      if (end !== 'error' || response.statusCode !== 503 || waitedMs < LOAD_WAIT_MS) return undefined
      const calmMs = Math.max(health.controlCalmSinceMs(), health.calmSinceMs(gateway.process.name))
      if (calmMs >= heardFromMs(sentMs) || isUpset(asked.model, sentMs)) return undefined
      const [model] = store.read<ModelRow>('select engine, options, memory, updated_at from models where name = $1', [
        asked.model,
      ])
      if (!model || model.updated_at >= sentMs) return undefined
      const idle = machines.find(
        (machine) =>
          isIdle(machine, asked.model, sentMs) &&
          isAllowed(machine.nodeId!, asked.model, sentMs) &&
          couldHold(machine, model),
      )
      if (!idle) return undefined
      const name = `request ${asked.id} for ${asked.model} waited ${Math.round(waitedMs / 1000)} s`
      return `${name}, though ${idle.name} had nothing else to do: ${response.text.slice(0, 300)}`
    },
  }
}

/** On one device, or without any. */
function couldHold({ hardware }: Machine, { engine, options, memory }: ModelRow): boolean {
  const [gpu] = hardware.devices
  if (engine === 'greedy' && !gpu) return false
  const spec = { engine, options: JSON.parse(options) as Record<string, unknown>, devices: gpu ? [gpu.index] : [] }
  const { devices, ram } = takenBy(spec as never, hardware)
  const said = memory === null ? { vram: 0, ram: 0 } : (JSON.parse(memory) as { vram: number; ram: number })
  const bytes = Math.max(said.vram + said.ram, devices[0]?.bytes ?? 0, gpu ? 0 : ram)
  const shared = gpu?.unified ? bytes : 0
  return bytes <= ROOMY * (gpu?.totalVram ?? hardware.totalRam) && ram + shared <= ROOMY * hardware.totalRam
}
