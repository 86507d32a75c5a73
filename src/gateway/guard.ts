import type { IncomingMessage } from 'node:http'
import { hostAndPort, isLoopback } from '../platform/address.ts'
import { AppError } from '../platform/errors.ts'
import { bearerToken } from '../platform/http.ts'
import { sameSecret } from '../platform/secrets.ts'

/**
 * Who may ask for inference: the holder of the key from anywhere; from this machine anybody, as long as the request
 * names this machine as its host. That last check keeps a web page elsewhere from reaching us through a host name of
 * its own that it points at 127.0.0.1 (DNS rebinding), and `Origin` from doing so openly.
 */
export function allowInference(request: IncomingMessage, adminKey: string): void {
  const token = bearerToken(request)
  if (token && sameSecret(token, adminKey)) return
  if (isLoopback(request.socket.remoteAddress ?? '') && namesLoopback(request)) return
  const text =
    'Inference from another machine needs a key: Authorization: Bearer <key>. The admin key in the data folder is one.'
  throw new AppError('unauthorized', token ? `The key is wrong. ${text}` : text)
}

function namesLoopback(request: IncomingMessage): boolean {
  const { host, origin } = request.headers
  if (host !== undefined && !isLoopback(hostAndPort(host, 80)?.host ?? '')) return false
  return origin === undefined || (URL.canParse(origin) && isLoopback(new URL(origin).hostname))
}
