import { randomBytes } from 'node:crypto'

/** The protocol as of this nats-server; clients look at it to know which features to expect. */
const COMPATIBLE_VERSION = '2.9.10'

/** A client may not choose a longer name for itself in our log. */
const MAX_NAME_LENGTH = 128

export interface ServerFacts {
  serverId: string
  host: string
  port: number
  maxPayloadBytes: number
  authRequired: boolean
  tlsRequired: boolean
  tlsVerify: boolean
}

/** The line each client is greeted with. The nonce is what it must sign. */
export function infoLine(facts: ServerFacts, client: { id: number; address: string; nonce: string }): string {
  const info = {
    server_id: facts.serverId,
    server_name: 'flotilla',
    version: COMPATIBLE_VERSION,
    proto: 1,
    host: facts.host,
    port: facts.port,
    headers: true,
    max_payload: facts.maxPayloadBytes,
    client_id: client.id,
    client_ip: client.address,
    ...(facts.authRequired && { auth_required: true, nonce: client.nonce }),
    ...(facts.tlsRequired && { tls_required: true }),
    ...(facts.tlsVerify && { tls_verify: true }),
  }
  return `INFO ${JSON.stringify(info)} \r\n`
}

export function newServerId(): string {
  const letters = [...randomBytes(55)].map((byte) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'[byte & 31])
  return `N${letters.join('')}`
}

/** Unguessable, so that an old signature proves nothing. */
export function newNonce(): string {
  return randomBytes(16).toString('base64url')
}

/** What a client asks for in CONNECT. */
export interface ConnectOptions {
  verbose: boolean
  pedantic: boolean
  echo: boolean
  headers: boolean
  noResponders: boolean
  protocol: number
  name: string
  nkey: string
  signature: string
}

/** Before CONNECT, and for what it leaves out: nats-server's defaults, which are not those of its clients. */
export const defaultConnectOptions: ConnectOptions = {
  verbose: true,
  pedantic: true,
  echo: true,
  headers: false,
  noResponders: false,
  protocol: 0,
  name: '',
  nkey: '',
  signature: '',
}

/** Undefined when it is not an object or a field has the wrong type. Unknown fields are let pass, as always. */
export function readConnectOptions(json: string): ConnectOptions | undefined {
  const given = parseObject(json)
  if (!given) return undefined
  const defaults = defaultConnectOptions
  const options = {
    verbose: given['verbose'] ?? defaults.verbose,
    pedantic: given['pedantic'] ?? defaults.pedantic,
    echo: given['echo'] ?? defaults.echo,
    headers: given['headers'] ?? defaults.headers,
    noResponders: given['no_responders'] ?? defaults.noResponders,
    protocol: given['protocol'] ?? defaults.protocol,
    name: given['name'] ?? defaults.name,
    nkey: given['nkey'] ?? defaults.nkey,
    signature: given['sig'] ?? defaults.signature,
  }
  const flags = [options.verbose, options.pedantic, options.echo, options.headers, options.noResponders]
  const texts = [options.name, options.nkey, options.signature]
  if (flags.some((flag) => typeof flag !== 'boolean') || texts.some((text) => typeof text !== 'string'))
    return undefined
  if (!Number.isInteger(options.protocol)) return undefined
  const checked = options as ConnectOptions
  return { ...checked, name: checked.name.slice(0, MAX_NAME_LENGTH) }
}

function parseObject(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
