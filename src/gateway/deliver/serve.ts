import type { Exchange, ServeDeps } from './exchange.ts'
import type { UpstreamConnection } from '../../http/upstream/upstream-connection.ts'
import { Attempt } from './attempt.ts'
import { Delivery, type Begun, type DeliveryEnd } from './delivery.ts'
import type { LiveRoute } from '../table/routing-table.ts'
import type { Done } from './serve-when-ready.ts'

/**
 * Sends a request to the best replica; to the next best when that one cannot be reached or refuses, for as long as nothing
 * has reached the client. Never to two at once: an engine that works for nothing is worse than a wait. What it is sent to
 * counts from the pick on, until here is the end of it.
 *
 * These are the requests that did not take the shortcut, or left it (`begun`): their bytes pass through attempt.ts and
 * platform/proxy.ts. Those of the shortcut pass through short-request.ts and platform/short-passage.ts. Nothing waits here
 * unless a replica must be asked first whether it lives.
 */
export function serve(deps: ServeDeps, exchange: Exchange, done: Done, begun?: Begun): void {
  const delivery = new RequestDelivery(deps, exchange, done)
  if (begun) delivery.goOn(begun)
  else delivery.next()
}

class RequestDelivery extends Delivery {
  readonly #deps: ServeDeps
  readonly #exchange: Exchange

  constructor(deps: ServeDeps, exchange: Exchange, done: Done) {
    super(deps, exchange, done)
    this.#deps = deps
    this.#exchange = exchange
  }

  protected override send(route: LiveRoute, sentOn?: UpstreamConnection): void {
    const attempt = new Attempt(this.#deps, this.#exchange, route, this.#onEnd, sentOn)
    try {
      attempt.start()
    } catch (error) {
      if (!attempt.close()) throw error
      this.fail(error)
    }
  }

  readonly #onEnd = (end: DeliveryEnd): void => this.end(end)
}
