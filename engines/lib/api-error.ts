export interface ApiErrorExtra {
  type?: string
  param?: string
  code?: string
  /** Seconds for the Retry-After header. */
  retryAfterS?: number
}

/** An error for the client, in the shape that OpenAI clients read. */
export class ApiError extends Error {
  readonly status: number
  readonly extra: ApiErrorExtra

  constructor(status: number, message: string, extra: ApiErrorExtra = {}) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.extra = extra
  }

  toBody(): { error: { message: string; type: string; param: string | null; code: string | null } } {
    const { type, param, code } = this.extra
    return {
      error: { message: this.message, type: type ?? typeOf(this.status), param: param ?? null, code: code ?? null },
    }
  }
}

export function badRequest(message: string, param?: string, code?: string): ApiError {
  return new ApiError(400, message, {
    ...(param === undefined ? {} : { param }),
    ...(code === undefined ? {} : { code }),
  })
}

function typeOf(status: number): string {
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}
