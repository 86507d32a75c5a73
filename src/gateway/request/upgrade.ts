import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { AppError } from '../../platform/errors.ts'
import { pathOf, type UpgradeHandler } from '../../http/server.ts'
import { whenGone } from '../../http/server/socket-gone.ts'
import { Delivery, type DeliveryEnd } from '../deliver/delivery.ts'
import type { DeliveryNotes } from '../deliver/parcel.ts'
import type { Caller } from '../access/guard.ts'
import { modelInQuery, sessionInHeader } from './read-request.ts'
import { refuseDots } from './refuse-dots.ts'
import type { LiveRoute } from '../table/routing-table.ts'
import { serveWhenReady, type Ask, type Done, type ReadyDeps } from '../deliver/serve-when-ready.ts'
import { SocketAttempt, type SocketDeps, type Upgrade } from '../deliver/socket-attempt.ts'

export interface UpgradeDeps extends ReadyDeps, SocketDeps {
  /** Returns the caller; throws when the request is not allowed. */
  allow: (request: IncomingMessage) => Caller
}

/**
 * WebSockets under `/v1/`, such as `/v1/realtime?model=m`. They wait and find their replica like any other request, and
 * count there as one for as long as they are open. Their messages pass unread between client and engine.
 */
export function upgradeHandler(deps: UpgradeDeps): UpgradeHandler {
  return async (request, socket, head) => {
    const path = pathOf(request)
    if (!path.startsWith('/v1/')) throw new AppError('not_found', `There is no WebSocket at ${path}.`)
    refuseDots(path)
    const caller = deps.allow(request)
    const model = modelInQuery(request)
    if (model === undefined) {
      const text = 'A WebSocket must say which model it is for: add ?model=<name> to the address.'
      throw new AppError('bad_request', text, { details: { param: 'model' } })
    }
    const client = new WaitingClient(socket)
    const { gone } = client
    const decision = noNotes()
    const upgrade = { request, socket, head, model, sessionKey: sessionInHeader(request), decision, gone }
    const ask = { model, caller, gone, waits: decision }
    client.watch()
    try {
      await new Promise<void>((resolve, reject) => {
        const serve = (done: Done): void => new SocketDelivery(deps, upgrade, client, done).next()
        serveWhenReady(deps, ask, serve, (error) => (error === undefined ? resolve() : reject(error)))
      })
    } finally {
      client.leave()
    }
  }
}

class SocketDelivery extends Delivery {
  readonly #deps: SocketDeps
  readonly #upgrade: Upgrade
  readonly #client: WaitingClient

  constructor(deps: SocketDeps, upgrade: Upgrade, client: WaitingClient, done: Done) {
    super(deps, upgrade, done)
    this.#deps = deps
    this.#upgrade = upgrade
    this.#client = client
  }

  protected override send(route: LiveRoute): void {
    this.#client.leave()
    new SocketAttempt(this.#deps, this.#upgrade, route).run().then(this.#onEnd, (error: unknown) => this.fail(error))
  }

  readonly #onEnd = (end: DeliveryEnd): void => {
    if (end === 'next') this.#client.watch()
    this.end(end)
  }
}

/** Notices when the client disconnects during the wait. It stops while a replica has the socket, which needs one reader. */
class WaitingClient {
  readonly #socket: Socket
  readonly #gone = new AbortController()
  #stop: (() => void) | undefined

  constructor(socket: Socket) {
    this.#socket = socket
  }

  get gone(): AbortSignal {
    return this.#gone.signal
  }

  watch(): void {
    const socket = this.#socket
    if (socket.destroyed || socket.readableEnded) this.#gone.abort()
    this.#stop ??= whenGone(socket, () => this.#gone.abort())
  }

  leave(): void {
    this.#stop?.()
    this.#stop = undefined
  }
}

/** No decision is kept for WebSockets: these notes live as long as the search for a replica. */
function noNotes(): DeliveryNotes & Ask['waits'] {
  return { tries: [], candidates: [], candidateCount: 0, isSampled: false, loadWaitMs: 0, queuedMs: 0 }
}
