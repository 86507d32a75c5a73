import { AppError } from '../../platform/errors.ts'
import type { HttpRequest, HttpResponse } from '../exchange.ts'

interface Pending {
  request: HttpRequest
  response: HttpResponse
  bytesRead: number
  silentSinceMs: number
}

export interface StalledBodies {
  watch(request: HttpRequest, response: HttpResponse): void
  dispose(): void
}

/**
 * Ends requests whose body brings nothing for `silenceMs`. One timer checks all of them, so a request that arrives whole, as
 * most do, costs only its place in a set. It leaves the set with its answer: held until the next check, seconds of requests
 * would stay in memory.
 */
export function watchBodies(
  silenceMs: number,
  refuse: (response: HttpResponse, error: AppError) => void,
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
      const one = { request, response, bytesRead, silentSinceMs: performance.now() }
      pending.add(one)
      response.once('close', () => request.complete && pending.delete(one))
    },
    dispose: () => clearInterval(look),
  }

  function end({ request, response }: Pending): void {
    const text = `No part of the request body arrived for ${silenceMs / 1000} s. Check that Content-Length is not larger than the body.`
    if (response.headersSent) request.socket.destroy()
    else refuse(response, new AppError('timeout', text))
  }
}

/** The client has sent something, or waits for the server: to read its bytes, or to end an answer that has begun. */
function isOurTurn(one: Pending): boolean {
  const { request, response } = one
  const { bytesRead } = request.socket
  const hasSent = bytesRead !== one.bytesRead
  one.bytesRead = bytesRead
  return hasSent || request.readableLength > 0 || (response.headersSent && !response.writableEnded)
}
