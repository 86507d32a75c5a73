import type { HttpRequest, HttpResponse } from '../../../src/http/exchange.ts'
import { forward, type Forwarded, type Upstream } from '../../../src/http/proxy.ts'

/** Sends a request on and waits for what becomes of it. */
export function forwarded(
  request: HttpRequest,
  response: HttpResponse,
  upstream: Upstream,
  body?: Buffer,
): Promise<Forwarded> {
  return new Promise((resolve) => forward(request, response, upstream, { onForwarded: resolve }, body))
}
