import type { RoutingSnapshotMessage } from '../../api/bus/messages.ts'
import type { Bus } from '../../bus/bus.ts'
import { AppError } from '../../platform/errors.ts'

const TIMEOUT_MS = 2000
/** How often a table that changes while it is read is read again at once; after that, at the next check. */
const MOST_TRIES = 3

/** Fetches the whole routing table, which comes in parts when it is large. */
export async function fetchTable(bus: Pick<Bus, 'request'>): Promise<RoutingSnapshotMessage> {
  for (let i = 0; i < MOST_TRIES; i += 1) {
    const table = await fetchOnce(bus)
    if (table) return table
  }
  throw new AppError('unavailable', 'The routing table changes faster than it can be read.')
}

async function fetchOnce(bus: Pick<Bus, 'request'>): Promise<RoutingSnapshotMessage | undefined> {
  const ask = (part: number) => bus.request('routingSnapshot', { part }, { timeoutMs: TIMEOUT_MS })
  const { parts, ...first } = await ask(0)
  const { models, routes, keys } = { models: [...first.models], routes: [...first.routes], keys: [...first.keys] }
  for (let part = 1; part < parts; part += 1) {
    const next = await ask(part)
    if (next.feed !== first.feed || next.version !== first.version) return undefined
    models.push(...next.models)
    routes.push(...next.routes)
    keys.push(...next.keys)
  }
  return { ...first, models, routes, keys }
}
