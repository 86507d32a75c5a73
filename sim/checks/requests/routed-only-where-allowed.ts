import type { Cluster } from '../../cluster.ts'
import type { ReplicaMirror } from '../../ground/store-mirror.ts'
import type { Check } from '../check.ts'
import { isMeant, labelsOf } from '../meant.ts'

/** From a change in the store to the last gateway that knows it, when nobody disturbs them. */
const LAG_MS = 5000

/**
 * Invariant 2: no request reaches an engine of another model, or one that is not to be asked any more: its node outside the
 * selector, not approved, draining or offline, the replica not ready or of an old revision, for longer than it takes to
 * tell the gateways.
 */
export function routedOnlyWhereAllowed(cluster: Cluster): Check {
  const { store, health, settings } = cluster
  const withinMs = settings.pace.turnPeriodMs + LAG_MS
  return {
    name: 'routes (invariant 2)',
    onServed({ spec }, { model, gateway, pickedMs }) {
      if (spec.model_name !== model) return `a request for ${model} reached an engine of ${spec.model_name}`
      const wrong = whyWrong(cluster, spec.id, model)
      if (!wrong) return undefined
      const calmMs = Math.max(health.controlCalmSinceMs(), health.calmSinceMs(gateway))
      const forMs = pickedMs - Math.max(wrong.sinceMs, calmMs)
      if (forMs <= withinMs) return undefined
      return `${gateway} sent a request for ${model} to ${spec.id}: ${wrong.why} for ${Math.round(forMs / 1000)} s`
    },
  }

  function whyWrong({ machines }: Cluster, id: string, model: string): { why: string; sinceMs: number } | undefined {
    const { mirror } = store
    const row: ReplicaMirror | undefined = mirror.replicas.get(id)
    if (!row) return { why: 'there is no such replica', sinceMs: mirror.goneMs.get(id) ?? 0 }
    const node = mirror.nodes.get(row.nodeId)
    if (!node || machines.length === 0) return { why: 'its node is gone', sinceMs: row.sinceMs }
    if (row.state !== 'ready') return { why: `it is ${row.state}`, sinceMs: row.sinceMs }
    if (!node.approved || node.desired !== 'active' || node.liveness === 'offline') {
      const how = node.approved ? `${node.desired} and ${node.liveness}` : 'not approved'
      return { why: `${node.name} is ${how}`, sinceMs: node.unroutableSinceMs }
    }
    const [found] = store.read<{ revision: string; updated_at: number }>(
      'select revision, updated_at from models where name = $1',
      [model],
    )
    if (found && found.revision !== row.revision) return { why: 'it is of an old revision', sinceMs: found.updated_at }
    const [rule] = store.read<{ node_selector: string; updated_at: number }>(
      'select node_selector, updated_at from rules where model_name = $1',
      [model],
    )
    if (!rule || isMeant(rule.node_selector, labelsOf(store, row.nodeId))) return undefined
    const sinceMs = Math.max(rule.updated_at, mirror.labelledMs.get(row.nodeId) ?? 0)
    return { why: `${node.name} is outside the selector`, sinceMs }
  }
}
