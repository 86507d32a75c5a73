import { AppError, type ErrorCode, type ErrorExtra } from '../../platform/errors.ts'

/** No replica took a request. */
export class NotServedError extends AppError {
  /** The routes that were passed over, by `routeKey`. */
  readonly passed: ReadonlySet<string>
  /** Whether it may wait for another replica: it is not known to end the engines that have it. */
  readonly mayWait: boolean
  /** Whether a replica could not be reached, so that only its end or its return will tell: it may wait for as long as its time lasts. */
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
