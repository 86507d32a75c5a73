import type { IncomingMessage, ServerResponse } from 'node:http'
import { AppError } from './errors.ts'

interface Pending {
  request: IncomingMessage
  response: ServerResponse
  bytesRead: number
  silentSinceMs: number
}

export interface StalledBodies {
  watch(request: IncomingMessage, response: ServerResponse): void
  dispose(): void
}

/**
 * Ends requests whose body brings nothing for `silenceMs`. All of them are looked at now and then, so a request that
 * arrives whole, as most do, costs nothing but its place in a set.
 */
export function watchBodies(
  silenceMs: number,
  refuse: (response: ServerResponse, error: AppError) => void,
): StalledBodies {
  const pending = new Set<Pending>()
  const look = setInterval(
    () => {
      const nowMs = performance.now()
      for (const one of pending) {
        if (one.request.complete || one.request.destroyed) pending.delete(one)
        else if (isOurTurn(one)) one.silentSinceMs = nowMs
        else if (nowMs - one.silentSinceMs >= silenceMs) {
          pending.delete(one)
          end(one)
        }
      }
    },
    Math.max(10, silenceMs / 8),
  )
  look.unref()
  return {
    watch(request, response) {
      if (request.complete) return
      const { bytesRead } = request.socket
      pending.add({ request, response, bytesRead, silentSinceMs: performance.now() })
    },
    dispose: () => clearInterval(look),
  }

  function end({ request, response }: Pending): void {
    const text = `Nothing of the request's body arrived for ${silenceMs / 1000} s. Check that Content-Length is not larger than the body.`
    if (response.headersSent) request.socket.destroy()
    else refuse(response, new AppError('timeout', text))
  }
}

/** The client has sent something, or waits for us: to read what it sent, or to end an answer that has begun. */
function isOurTurn(one: Pending): boolean {
  const { request, response } = one
  const { bytesRead } = request.socket
  const hasSent = bytesRead !== one.bytesRead
  one.bytesRead = bytesRead
  return hasSent || request.readableLength > 0 || (response.headersSent && !response.writableEnded)
}
