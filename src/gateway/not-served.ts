import { AppError, type ErrorCode, type ErrorExtra } from '../platform/errors.ts'

/** No replica took a request. */
export class NotServedError extends AppError {
  /** The routes that were passed over, by `routeKey`. */
  readonly passed: ReadonlySet<string>
  /** Whether it may wait for another replica: it is not known to end the engines that have it. */
  readonly mayWait: boolean

  constructor(
    code: ErrorCode,
    message: string,
    extra: ErrorExtra,
    { passed, mayWait }: Pick<NotServedError, 'passed' | 'mayWait'>,
  ) {
    super(code, message, extra)
    this.passed = passed
    this.mayWait = mayWait
  }
}

/** Whether a request that failed so never left this machine. */
export function isUnsent(error: NodeJS.ErrnoException): boolean {
  // Several addresses were tried, and none of them could be connected to.
  if (error instanceof AggregateError) return true
  return error.syscall === 'connect' || error.syscall === 'getaddrinfo'
}
