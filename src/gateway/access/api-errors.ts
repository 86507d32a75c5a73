import { errorTable, type AppError } from '../../platform/errors.ts'
import type { HttpRequest, HttpResponse } from '../../http/exchange.ts'
import { pathOf, sendError } from '../../http/server.ts'

/** OpenAI's and Anthropic's clients each read errors only in their own format. */
export type ApiStyle = 'openai' | 'anthropic'

export function apiStyle(path: string): ApiStyle {
  return path === '/v1/messages' || path.startsWith('/v1/messages/') ? 'anthropic' : 'openai'
}

/** Sends an error in the format of the API that was called. */
export function sendApiError(request: HttpRequest, response: HttpResponse, error: AppError): void {
  sendError(response, error, errorBody(apiStyle(pathOf(request)), error))
}

/** The same as an event, for a stream that has begun. */
export function errorEvent(style: ApiStyle, error: AppError): string {
  const name = style === 'anthropic' ? 'event: error\n' : ''
  return `${name}data: ${JSON.stringify(errorBody(style, error))}\n\n`
}

function errorBody(style: ApiStyle, error: AppError): object {
  if (style === 'openai') return error.toBody()
  const { code, message, status, details, beside } = error
  const type = ANTHROPIC_TYPES[status] ?? (status >= 500 ? 'api_error' : errorTable[code].type)
  return { type: 'error', error: { type, message, code, ...details }, ...beside }
}

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
}
