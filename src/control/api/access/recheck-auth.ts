import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../../platform/run/clock.ts'
import { AppError } from '../../../platform/errors.ts'

/** How long a stream may go on after its key was revoked or its reader has signed out. */
const CHECK_EVERY_MS = 10_000

/**
 * A stream was authorized when it began, which may be days ago. This ends it once its reader would no longer be authorized.
 * A store that does not answer does not end it.
 */
export function endWhenRefused(
  request: IncomingMessage,
  response: ServerResponse,
  clock: Clock,
  check: (request: IncomingMessage) => Promise<unknown>,
): void {
  let cancel = (): void => {}
  const look = (): void => {
    check(request).then(
      () => (cancel = clock.after(CHECK_EVERY_MS, look)),
      (error: unknown) => {
        if (error instanceof AppError && error.status >= 400 && error.status < 500) response.end()
        else cancel = clock.after(CHECK_EVERY_MS, look)
      },
    )
  }
  cancel = clock.after(CHECK_EVERY_MS, look)
  response.once('close', () => cancel())
}
