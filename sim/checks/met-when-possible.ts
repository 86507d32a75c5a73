import { reconcile } from '../../src/core/reconcile/reconcile.ts'
import type { Sql } from '../../src/store/sql.ts'
import { loadWorld } from '../../src/store/world/world.ts'
import type { Cluster } from '../cluster.ts'
import type { Check } from './check.ts'

/** To plan everything anew is what costs most in a long run: it is done less often where heartbeats are. */
const EVERY_MS = 4 * 60_000
const PER_HEARTBEAT = 4
/** A pass that is woken, or the next that comes by itself, and the store in between. */
const SLACK_MS = 2000

/**
 * Invariant 7: what a rule or a waiting request asks for is placed as soon as it is possible, whatever the breaker said
 * before: a look at the store never finds room that nobody has taken by the next turn. (That nothing is tried where it
 * does not fit is what the check of claims sees to.)
 */
export function metWhenPossible(cluster: Cluster, report: (problem: string) => void): Check {
  const { store, queue, health, settings } = cluster
  const sql: Sql = { query: async (text, params = []) => store.read(text, params) as never }
  const placedMs = new Map<string, number>()
  const everyMs = Math.max(EVERY_MS, PER_HEARTBEAT * settings.heartbeatPeriodMs)
  let nextMs = queue.nowMs + everyMs

  const possible = async (): Promise<Set<string>> => {
    const world = await loadWorld(sql)
    const { steps } = reconcile(world, settings.policy)
    return new Set(steps.flatMap((step) => (step.kind === 'reserve' ? [step.modelName] : [])))
  }
  const isCalm = (sinceMs: number): boolean => health.controlCalmSinceMs() < sinceMs

  const begin = async (): Promise<void> => {
    const atMs = queue.nowMs
    const before = await possible()
    if (before.size === 0) return
    queue.after(settings.pace.turnPeriodMs + SLACK_MS, () => {
      if (!isCalm(atMs)) return
      void possible().then((after) => {
        for (const name of after) {
          if (!before.has(name) || (placedMs.get(name) ?? 0) >= atMs) continue
          report(`${name} could be placed for ${Math.round((queue.nowMs - atMs) / 1000)} s, and nobody does`)
        }
      })
    })
  }

  return {
    name: 'placed (invariant 7)',
    onCommit({ inserted }) {
      for (const { modelName } of inserted) placedMs.set(modelName, queue.nowMs)
      return undefined
    },
    look() {
      if (queue.nowMs < nextMs) return undefined
      nextMs = queue.nowMs + everyMs
      if (isCalm(queue.nowMs - settings.pace.turnPeriodMs)) void begin()
      return undefined
    },
  }
}
