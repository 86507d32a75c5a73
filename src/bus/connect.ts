import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import {
  connect,
  jwtAuthenticator,
  nkeyAuthenticator,
  type NatsConnection,
  type NodeConnectionOptions,
} from '@nats-io/transport-node'
import { inboxPrefix, type BusRole } from '../api/bus/subjects.ts'
import { AppError, messageOf } from '../platform/errors.ts'
import { hostAndPort } from '../platform/address.ts'

export interface BusAddress {
  /** `nats://host:port`, or `nats://user:password@host:port` for an external server. */
  url: string
  /** The client's own nkey seed. */
  seed?: string | undefined
  /** For a server with accounts: called at every connect, so that it never uses an old JWT. */
  jwt?: (() => string) | undefined
  /** For `tls://`. */
  tls?: BusTls | undefined
}

/** All of it PEM. */
export interface BusTls {
  /** The CA of the server; without it the CAs that Node knows. */
  ca?: string | undefined
  /** What the server's certificate is made out to, when that is not the host it is reached at. */
  name?: string | undefined
  /** The certificate that this client shows. */
  cert?: string | undefined
  key?: string | undefined
}

/** A connection that reconnects for ever: a bus that is away costs time, never correctness. */
export async function connectNats(address: BusAddress, role: BusRole, clientId: string): Promise<NatsConnection> {
  const url = parseBusUrl(address.url)
  const options: NodeConnectionOptions = {
    servers: url.host,
    name: `flotilla ${role} ${clientId}`,
    inboxPrefix: inboxPrefix(role, clientId),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 250,
    pingInterval: 10_000,
    maxPingOut: 2,
    timeout: 5000,
    ignoreClusterUpdates: true,
    // nats.js would give up for good after two refusals; the server may accept us later, or with a newer JWT.
    ignoreAuthErrorAbort: true,
  }
  if (address.seed) {
    const seed = new TextEncoder().encode(address.seed)
    options.authenticator = address.jwt ? jwtAuthenticator(address.jwt, seed) : nkeyAuthenticator(seed)
  }
  if (url.username && url.password) Object.assign(options, { user: decode(url.username), pass: decode(url.password) })
  else if (url.username) options.token = decode(url.username)
  if (url.protocol === 'tls:') options.tls = tlsOptions(address.tls ?? {})
  try {
    return await connect(options)
  } catch (error) {
    throw new AppError('unavailable', `Cannot connect to the bus at ${url.host}: ${messageOf(error)}.`, {
      cause: error,
    })
  }
}

/** Leaves unset options out: the client library takes undefined for a value. */
function tlsOptions({ name, ...pems }: BusTls): NonNullable<NodeConnectionOptions['tls']> {
  const given = Object.fromEntries(Object.entries(pems).filter(([, pem]) => pem !== undefined))
  if (name === undefined) return given
  return {
    ...given,
    checkServerIdentity: (_: string, cert: PeerCertificate) => checkServerIdentity(name, cert),
  } as object
}

function parseBusUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !['nats:', 'tls:'].includes(url.protocol) || !hostAndPort(url.host, 4222)) {
    // The text may hold a password, so it is not repeated.
    throw new AppError('usage', 'The bus address must look like nats://host:4222 or tls://host:4222.')
  }
  if (!url.port) url.port = '4222'
  return url
}

function decode(text: string): string {
  return decodeURIComponent(text)
}
