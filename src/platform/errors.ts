/**
 * Every failure a person can meet has a code. One table says what each code means on the wire: the HTTP status and
 * the error type that OpenAI clients switch on. Expected outcomes are values, not errors; the impossible is `assert`.
 */
export const errorTable = {
  bad_request: { status: 400, type: 'invalid_request_error' },
  unauthorized: { status: 401, type: 'authentication_error' },
  forbidden: { status: 403, type: 'permission_error' },
  not_found: { status: 404, type: 'not_found_error' },
  model_not_found: { status: 404, type: 'invalid_request_error' },
  /** The store has no such node and no record of its removal: the node must register again. */
  node_unknown: { status: 404, type: 'not_found_error' },
  method_not_allowed: { status: 405, type: 'invalid_request_error' },
  timeout: { status: 408, type: 'timeout_error' },
  conflict: { status: 409, type: 'conflict_error' },
  /** The caller belongs to another cluster than the frontend that answers. */
  other_cluster: { status: 409, type: 'conflict_error' },
  too_large: { status: 413, type: 'invalid_request_error' },
  unsupported_media_type: { status: 415, type: 'invalid_request_error' },
  expectation_failed: { status: 417, type: 'invalid_request_error' },
  busy: { status: 429, type: 'rate_limit_error' },
  headers_too_large: { status: 431, type: 'invalid_request_error' },
  /** The client has left and cannot read it; it is for logs and records. */
  client_gone: { status: 499, type: 'invalid_request_error' },
  internal: { status: 500, type: 'server_error' },
  not_implemented: { status: 501, type: 'invalid_request_error' },
  bad_gateway: { status: 502, type: 'server_error' },
  unavailable: { status: 503, type: 'server_error' },
  model_not_ready: { status: 503, type: 'server_error' },
  /** The model is being loaded; `loading` beside the error shows the progress. */
  model_loading: { status: 503, type: 'server_error' },
  model_load_failed: { status: 503, type: 'server_error' },
  /** No node can take the model now. */
  no_capacity: { status: 503, type: 'server_error' },
  /** The program was asked to do something impossible: bad flag, used port, unwritable folder. Exit code 2. */
  usage: { status: 400, type: 'invalid_request_error' },
} as const satisfies Record<string, { status: number; type: string }>

export type ErrorCode = keyof typeof errorTable

export interface ErrorExtra {
  cause?: unknown
  /** Further fields of the error object on the wire, e.g. `{ param: 'model' }`. */
  details?: Record<string, unknown>
  /** Further fields of the body, beside the error object. */
  beside?: Record<string, unknown>
  retryAfterS?: number
  /**
   * Repeating the request does not help; clients that retry automatically, such as OpenAI's and Anthropic's, are told
   * so.
   */
  isFinal?: boolean
  /** The methods that the path accepts. */
  allow?: readonly string[]
}

/** A failure with a code and a message that names the step that failed and how to go on. Safe to show to anyone. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly details: Record<string, unknown>
  readonly beside: Record<string, unknown>
  readonly retryAfterS: number | undefined
  readonly isFinal: boolean
  readonly allow: readonly string[] | undefined

  constructor(code: ErrorCode, message: string, extra: ErrorExtra = {}) {
    super(message, extra.cause === undefined ? undefined : { cause: extra.cause })
    this.name = 'AppError'
    this.code = code
    this.details = extra.details ?? {}
    this.beside = extra.beside ?? {}
    this.retryAfterS = extra.isFinal ? undefined : extra.retryAfterS
    this.allow = extra.allow
    // What is not implemented will not be at the next try either.
    this.isFinal = extra.isFinal ?? code === 'not_implemented'
  }

  get status(): number {
    return errorTable[this.code].status
  }

  /** The body every HTTP error has, in OpenAI's shape. */
  toBody(): { error: Record<string, unknown>; [beside: string]: unknown } {
    return {
      error: { message: this.message, type: errorTable[this.code].type, param: null, code: this.code, ...this.details },
      ...this.beside,
    }
  }
}

/** Converts anything thrown to an AppError. An unknown failure reveals no internals: those go to the log. */
export function toAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown
  return new AppError('internal', 'Something failed inside Flotilla; the log has the cause.', { cause: thrown })
}

/** The text of anything thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
