import type { RoutedKeyMessage, RoutedModelMessage, RouteMessage } from '../../api/bus/messages.ts'

/** What one message of the routing table may take: a bus takes 1 MiB, and the rest of the message needs less than 8 KiB. */
export const MOST_PART_BYTES = 1016 * 1024

export interface RoutingPart {
  keys: RoutedKeyMessage[]
  models: RoutedModelMessage[]
  routes: RouteMessage[]
}

interface Table {
  keys: readonly RoutedKeyMessage[]
  models: readonly RoutedModelMessage[]
  routes: Iterable<RouteMessage>
}

/**
 * Cuts a routing table into parts that fit into one message each: keys first, then models, then routes. There is always one
 * part. A gateway of the release before takes keys and models of the first part only.
 */
export function cutTable(table: Table, mostBytes = MOST_PART_BYTES): RoutingPart[] {
  let part: RoutingPart = { keys: [], models: [], routes: [] }
  let bytes = 0
  const parts = [part]
  const partFor = (item: object): RoutingPart => {
    const itemBytes = bytesOf(item) + 1
    if (bytes > 0 && bytes + itemBytes > mostBytes) {
      part = { keys: [], models: [], routes: [] }
      parts.push(part)
      bytes = 0
    }
    bytes += itemBytes
    return part
  }
  for (const key of table.keys) partFor(key).keys.push(key)
  for (const model of table.models) partFor(model).models.push(model)
  for (const route of table.routes) partFor(route).routes.push(route)
  return parts
}

/** What it takes in a message. */
export function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
