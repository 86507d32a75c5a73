import type { Bus } from '../bus/bus.ts'
import type { Clock } from '../platform/clock.ts'
import { messageOf } from '../platform/errors.ts'
import type { Handler } from '../platform/http.ts'
import type { Logger } from '../platform/log.ts'
import { startLoop } from '../platform/loop.ts'
import { inferenceApi } from './inference.ts'
import { LiveTable } from './routing-table.ts'

export interface Gateway {
  handler: Handler
  /** How many replicas of a model can serve now. */
  readyReplicas(modelName: string): number
  /** Why this gateway is not ready, if it is not. */
  problem(): string | undefined
  dispose(): Promise<void>
}

/** Deltas come every few seconds even when nothing changes: this much silence means that the table may be old. */
const STALE_AFTER_MS = 15_000
const SNAPSHOT_TIMEOUT_MS = 2000
const CHECK_PERIOD_MS = 1000

/** Keeps a routing table up to date over the bus and serves from it; with the bus away it serves from the last one. */
export function startGateway(bus: Bus, clock: Clock, log: Logger): Gateway {
  const table = new LiveTable()
  const handler = inferenceApi({ table, clock, log })
  let wanted = true
  let heardMs = clock.nowMs()

  const loop = startLoop({
    periodMs: CHECK_PERIOD_MS,
    clock,
    async turn() {
      if (!wanted || !bus.isConnected()) return
      wanted = false
      try {
        table.replace(await bus.request('routingSnapshot', {}, { timeoutMs: SNAPSHOT_TIMEOUT_MS }))
        heardMs = clock.nowMs()
      } catch (error) {
        wanted = true
        throw error
      }
    },
    onError: (error) => log.debug({ error: messageOf(error) }, 'gateway: no routing snapshot yet'),
  })
  const refresh = (): void => {
    wanted = true
    loop.wake()
  }
  bus.subscribe('routingDelta', (delta) => {
    heardMs = clock.nowMs()
    if (!table.apply(delta)) refresh()
  })
  bus.onReconnect(refresh)

  return {
    handler,
    readyReplicas: (modelName) => table.routesOf(modelName).length,
    problem() {
      if (!table.hasSnapshot()) return 'no routing table yet'
      const silentMs = clock.nowMs() - heardMs
      // Stale but serving: what was loaded keeps answering.
      return silentMs > STALE_AFTER_MS ? `nothing heard from control for ${Math.round(silentMs / 1000)} s` : undefined
    },
    async dispose() {
      await loop.dispose()
      handler.dispose()
    },
  }
}
