import { REFUSAL_HEADER } from '../../api/data-port.ts'
import type { AppError } from '../../platform/errors.ts'
import type { HttpRequest, HttpResponse } from '../../http/exchange.ts'
import { sendJson } from '../../http/server.ts'
import { takeTheRest } from '../../http/proxy.ts'

/**
 * Marks the answer as the worker's own: no engine has answered this request, so the gateway may try another replica.
 * The connection is kept and the rest of the request is read and dropped, so that a gateway that is still sending a
 * long prompt receives the reason.
 */
export function refuse(request: HttpRequest, response: HttpResponse, error: AppError): void {
  const headers: Record<string, string> = { [REFUSAL_HEADER]: '1' }
  if (error.retryAfterS !== undefined) headers['retry-after'] = String(error.retryAfterS)
  if (error.code === 'unauthorized') headers['www-authenticate'] = 'Bearer'
  sendJson(response, error.status, error.toBody(), headers)
  takeTheRest(request)
}
