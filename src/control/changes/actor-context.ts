import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage } from 'node:http'

/** The actor of a change, and its address. */
export interface Acting {
  actor: string
  /** The address that the call came from; null for what this process does by itself. */
  address: string | null
}

/** For changes without a call: the actor has access to this process. */
const NOBODY: Acting = { actor: 'admin', address: null }

/**
 * Every change that an admin call leads to is recorded with its caller. The caller travels in async context instead of
 * through arguments, where forgetting it once would blame the wrong person.
 */
const current = new AsyncLocalStorage<Acting>()

export function actAs<T>(acting: Acting, work: () => T): T {
  return current.run(acting, work)
}

export function actingNow(): Acting {
  return current.getStore() ?? NOBODY
}

/** IPv4 in its own form; null for a connection that has ended. */
export function addressOf({ socket }: Pick<IncomingMessage, 'socket'>): string | null {
  return socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/, '') ?? null
}
