import type { Exchange, ServeDeps } from './exchange.ts'
import type { UpstreamConnection } from '../../http/upstream/upstream-connection.ts'
import { Attempt } from './attempt.ts'
import { Delivery, type Begun, type DeliveryEnd } from './delivery.ts'
import type { LiveRoute } from '../table/routing-table.ts'
import type { Done } from './serve-when-ready.ts'

/**
 * Sends a request to the best replica; to the next best when that one refuses or cannot be reached, as long as nothing has
 * reached the client. Never to two at once, because wasted work of an engine is worse than a wait. The chosen replica's
 * in-flight count covers the request from pick to completion.
 *
 * This is the full path, also of requests that left the fast path (`begun`): their bytes pass through attempt.ts and
 * http/proxy.ts. Those of the fast path pass through request/fast-request.ts and http/fast/path/fast-exchange.ts. Nothing
 * waits here unless a replica must be probed first.
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
