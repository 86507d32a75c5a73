import { onTestFinished } from 'vitest'
import type { RouteMessage, RoutingDeltaMessage } from '../../../src/api/bus/messages.ts'
import type { LoadStatus } from '../../../src/api/load-status.ts'
import { ColdLoads, type ColdLoadsDeps, type WaitOptions } from '../../../src/gateway/cold/cold-loads.ts'
import { LiveTable } from '../../../src/gateway/table/routing-table.ts'
import type { AppError } from '../../../src/platform/errors.ts'
import { silentLogger } from '../../../src/platform/run/log.ts'
import { aRoutedModel, aSnapshot } from './gateway-stage.ts'
import { ScriptedControl } from '../control/scripted-control.ts'
import { VirtualClock } from '../virtual-clock.ts'

const OLD_MS = 20_000

/** A gateway's cold loads, old enough to believe a refusal, and a table with two models and no route. */
export async function aColdPlace(options: Partial<ColdLoadsDeps> = {}) {
  const clock = new VirtualClock(1_000_000)
  const control = new ScriptedControl()
  const table = new LiveTable()
  const models = ['m', 'other'].map((name) => aRoutedModel({ name, state: 'stopped' }))
  table.replace(aSnapshot({ models }))
  const shared = { table, bus: control.bus, clock, log: silentLogger, waitMs: 60_000, mostWaiting: 1000 }
  const coldLoads = new ColdLoads({ ...shared, ...options })
  onTestFinished(() => coldLoads.dispose())
  await clock.advance(OLD_MS)
  let version = 1
  const tell = (fields: Partial<RoutingDeltaMessage>): void => {
    const delta = { feed: 'f', from_version: version, version: version + 1, set: [], removed: [], heard: [], ...fields }
    version += 1
    table.apply(delta, clock.nowMs())
  }
  const serves = (...routes: RouteMessage[]): void => tell({ set: routes })
  const asks = (): string[] => control.asked.map((ask) => `${ask.model_name} ${ask.wanted_ms}`)
  return { clock, control, table, coldLoads, tell, serves, asks, wait: waiterOf(coldLoads) }
}

/** A client that waits, and what became of it. */
export function waiterOf(coldLoads: ColdLoads) {
  return (model = 'm', options: WaitOptions = {}) => {
    const client = new AbortController()
    const seen: (LoadStatus | undefined)[] = []
    const waiter = {
      outcome: 'waits' as string,
      error: undefined as AppError | undefined,
      seen,
      leave: () => client.abort(),
    }
    const onStatus = (status: LoadStatus | undefined): void => void seen.push(status)
    coldLoads.wait(model, client.signal, { onStatus, ...options }).then(
      () => (waiter.outcome = 'goes on'),
      (error: AppError) => Object.assign(waiter, { outcome: error.code, error }),
    )
    return waiter
  }
}

export const outcomes = (waiters: readonly { outcome: string }[]): Set<string> =>
  new Set(waiters.map(({ outcome }) => outcome))
