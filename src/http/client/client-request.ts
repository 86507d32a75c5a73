import type { ClientRequest, RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Duplex } from 'node:stream'
import { connect } from 'node:tls'
import { request as httpRequest } from '../server/node-http.ts'
import { contextOf, explainHandshake, pinProblem, type Trust } from '../../platform/tls/trust.ts'

export type ClientOptions = Pick<RequestOptions, 'method' | 'headers' | 'signal'>

/** A request on a connection of its own, to http://, or to https:// when the server's certificate is trusted. */
export function clientRequest(url: URL, options: ClientOptions, trust: Trust = {}): ClientRequest {
  if (url.protocol !== 'https:') return httpRequest(url, { ...options, agent: false })
  return httpsRequest(url, {
    ...options,
    // Calls back only with a trusted connection, so nothing is sent before the certificate was checked.
    createConnection(_, onReady) {
      connectTo(url, options.signal, trust, onReady)
      return undefined
    },
  })
}

type OnReady = (error: Error | null, socket: Duplex) => void

function connectTo(url: URL, signal: AbortSignal | undefined, trust: Trust, onReady: OnReady): void {
  const { fingerprints } = trust
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const socket = connect({
    host,
    port: Number(url.port || 443),
    servername: /^[\d.]+$|:/.test(host) ? '' : host,
    ...(signal ? { signal } : {}),
    ...(fingerprints ? PINNED : { secureContext: contextOf(trust) }),
  })
  const fail = (error: Error): void => onReady(explainHandshake(error, url.origin), socket)
  socket.once('error', fail)
  socket.once('secureConnect', () => {
    socket.off('error', fail)
    const problem = fingerprints && pinProblem(url.origin, socket.getPeerX509Certificate(), fingerprints)
    if (!problem) return onReady(null, socket)
    socket.destroy()
    onReady(problem, socket)
  })
}

/** A pinned certificate is known itself, so its issuer, name and dates do not matter. */
const PINNED = { rejectUnauthorized: false } as const
