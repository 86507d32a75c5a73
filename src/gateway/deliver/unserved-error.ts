import { AppError, type ErrorCode, type ErrorExtra } from '../../platform/errors.ts'

/** No replica took a request. */
export class NotServedError extends AppError {
  /** The routes that were passed over, by `routeKey`. */
  readonly passed: ReadonlySet<string>
  /** Whether it may wait for another replica: false when too many replicas failed with it. */
  readonly mayWait: boolean
  /** A replica could not be reached, and may come back or be replaced: the request may wait for the rest of its time. */
  readonly isUnreached: boolean

  constructor(
    code: ErrorCode,
    message: string,
    extra: ErrorExtra,
    { passed, mayWait, isUnreached }: Pick<NotServedError, 'passed' | 'mayWait' | 'isUnreached'>,
  ) {
    super(code, message, extra)
    this.passed = passed
    this.mayWait = mayWait
    this.isUnreached = isUnreached
  }
}
