import type { EventView } from '../../../../src/api/admin/schemas.ts'

/** The node that has joined with a token; undefined as long as there is none. */
export function joinedWith(tokenId: string, events: readonly EventView[]): string | undefined {
  const joined = events.find(({ action, data }) => action === 'node.registered' && data['token_id'] === tokenId)
  return joined?.node_id ?? undefined
}
