import { REFUSAL_HEADER } from '../../api/data-port.ts'
import type { AppError } from '../../platform/errors.ts'
import type { HttpRequest, HttpResponse } from '../../http/exchange.ts'
import { sendJson } from '../../http/server.ts'
import { takeTheRest } from '../../http/proxy.ts'

/**
 * Our word and not the engine's, and marked as such: no engine has answered this request, so another replica may be
 * asked. The connection is kept, and what is left of the request is read and thrown away, so that a gateway that is still
 * sending a long prompt learns why it was refused.
 */
export function refuse(request: HttpRequest, response: HttpResponse, error: AppError): void {
  const headers: Record<string, string> = { [REFUSAL_HEADER]: '1' }
  if (error.retryAfterS !== undefined) headers['retry-after'] = String(error.retryAfterS)
  if (error.code === 'unauthorized') headers['www-authenticate'] = 'Bearer'
  sendJson(response, error.status, error.toBody(), headers)
  takeTheRest(request)
}
