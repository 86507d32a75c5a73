import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage } from 'node:http'

/** Who makes a change, and from where. */
export interface Acting {
  actor: string
  /** The address that the call came from; null for what this process does by itself. */
  address: string | null
}

/** What is told without a call: somebody with access to this process. */
const NOBODY: Acting = { actor: 'admin', address: null }

/**
 * Every change that a call of the admin API leads to is told with who called. It goes along with the call instead of
 * through the arguments of each function on the way, where forgetting it once would put it down to the wrong person.
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
