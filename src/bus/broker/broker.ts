import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import type { KeyObject } from 'node:crypto'
import assert from 'node:assert/strict'
import type { Permissions } from '../../api/bus/permissions.ts'
import { systemClock, type Clock } from '../../platform/run/clock.ts'
import { TlsUpgrade, type ShownCertificate } from '../../platform/tls/tls-upgrade.ts'
import { Client, type Hub, type Subscription } from './client.ts'
import type { BrokerEvent } from './events.ts'
import { infoLine, newNonce, newServerId } from './handshake.ts'
import { defaultLimits, type BrokerLimits } from './limits.ts'
import { isSignedBy, readUserKey } from './nkey.ts'
import { Postroom } from './outbox.ts'
import { CompiledPermissions } from './permissions.ts'
import { routeThrough } from './route.ts'
import { SubscriptionIndex } from './subscriptions.ts'

export type { BrokerEvent, DisconnectReason, Peer } from './events.ts'
export type { BrokerLimits } from './limits.ts'

export interface BrokerUser {
  /** An nkey: `U…`. */
  publicKey: string
  permissions: Permissions
  /** A role of the broker's own process: it may send as fast as it can. */
  isOwn?: boolean
}

export interface BrokerOptions {
  host: string
  /** 0 is any free port. */
  port: number
  /** Without it any client may do anything; with it, even when empty, only these users and those added later. */
  users?: readonly BrokerUser[]
  /** As NATS does it: the greeting in plain text, then everything else encrypted. */
  tls?: ShownCertificate
  limits?: Partial<BrokerLimits>
  clock?: Clock
  /** For the role's log. */
  onEvent?: (event: BrokerEvent) => void
}

export interface Broker {
  readonly host: string
  readonly port: number
  readonly url: string
  /** Adds the user or changes it; live connections feel it at once, and lose the subscriptions no longer allowed. */
  setUser(publicKey: string, permissions: Permissions, isOwn?: boolean): void
  /** Also disconnects it. */
  removeUser(publicKey: string): void
  /** Cuts all connections and frees the port. */
  dispose(): Promise<void>
}

/** The largest control line the broker can be set to take: a message's head must fit into one block of output. */
const MAX_CONTROL_LINE_BYTES = 16 * 1024
const KEEP_ALIVE_DELAY_MS = 15_000

/** Connections past the limit get an error; past this many more they are dropped without one. */
const TURNED_AWAY_AT_ONCE = 256

/** A broker for the NATS client protocol, listening when the promise resolves. */
export async function startBroker(options: BrokerOptions): Promise<Broker> {
  const { host, users, tls, clock = systemClock, onEvent = () => {} } = options
  const limits = { ...defaultLimits, ...options.limits }
  assert(limits.maxControlLineBytes <= MAX_CONTROL_LINE_BYTES, 'maxControlLineBytes is at most 16 KiB')
  const accounts = users && new Accounts(users)
  const tlsUpgrade = tls && new TlsUpgrade(tls, limits.authTimeoutMs)
  const clients = new Set<Client>()
  /** Clients that were sent an error and are about to close: they hold a socket, but no place any more. */
  const leaving = new Set<Client>()
  const subscriptions = new SubscriptionIndex<Subscription>()
  const hub: Hub = {
    limits,
    clock,
    postroom: new Postroom(),
    subscriptions,
    authRequired: accounts !== undefined,
    authenticate: (nkey, nonce, signature) => accounts?.authenticate(nkey, nonce, signature),
    isMetered: (nkey) => accounts?.isMetered(nkey) ?? false,
    route: routeThrough(subscriptions),
    report: onEvent,
    left: (client) => {
      if (clients.delete(client)) leaving.add(client)
    },
    closed: (client) => leaving.delete(client),
  }

  const server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_DELAY_MS })
  server.maxConnections = limits.maxConnections + TURNED_AWAY_AT_ONCE
  await listen(server, host, options.port)
  const { port } = server.address() as AddressInfo
  const facts = {
    serverId: newServerId(),
    host,
    port,
    maxPayloadBytes: limits.maxPayloadBytes,
    authRequired: hub.authRequired,
    tlsRequired: tls !== undefined,
    tlsVerify: tls?.ca !== undefined,
  }

  let lastClientId = 0
  const accept = (socket: Socket): void => {
    const id = ++lastClientId
    const address = socket.remoteAddress ?? ''
    const greeting = { id, address, nonce: newNonce(), authByMs: clock.nowMs() + limits.authTimeoutMs }
    const full = clients.size + (tlsUpgrade?.pending ?? 0) >= limits.maxConnections
    const admit = (transport: Socket): void => {
      const client = new Client(hub, transport, greeting)
      clients.add(client)
      if (full) client.turnAway()
    }
    socket.write(infoLine(facts, greeting))
    // A refused connection gets its error in plain text: an overloaded broker can least afford a TLS handshake.
    if (!tlsUpgrade || full) return admit(socket)
    tlsUpgrade.start(socket, admit, (detail) => {
      onEvent({ kind: 'disconnected', peer: { clientId: id, address }, reason: 'tls handshake failed', detail })
    })
  }
  // No connection can have been missed: they are announced in a later turn of the event loop than the listening.
  server.on('connection', accept)
  server.on('error', (error) => onEvent({ kind: 'listener error', detail: error.message }))

  return {
    host,
    port,
    url: `${tls ? 'tls' : 'nats'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    setUser(publicKey, permissions, isOwn = false) {
      assert(accounts, 'this broker was started without users: it is open to anybody')
      const compiled = accounts.set({ publicKey, permissions, isOwn })
      for (const client of clients) if (client.user === publicKey) client.setPermissions(compiled)
    },
    removeUser(publicKey) {
      accounts?.remove(publicKey)
      for (const client of clients) if (client.user === publicKey) client.userRemoved()
    },
    async dispose() {
      const closed = new Promise((resolve) => server.close(resolve))
      tlsUpgrade?.dispose()
      for (const client of [...clients, ...leaving]) client.brokerStopped()
      await closed
    },
  }
}

/** The users by their keys, which are decoded once and not for every connection. */
class Accounts {
  readonly #users = new Map<string, { key: KeyObject; permissions: CompiledPermissions; isOwn: boolean }>()

  constructor(users: readonly BrokerUser[]) {
    for (const user of users) this.set(user)
  }

  set({ publicKey, permissions, isOwn = false }: BrokerUser): CompiledPermissions {
    const key = this.#users.get(publicKey)?.key ?? readUserKey(publicKey)
    if (!key) throw new Error(`not a NATS user key: "${publicKey}"`)
    const compiled = new CompiledPermissions(permissions)
    this.#users.set(publicKey, { key, permissions: compiled, isOwn })
    return compiled
  }

  remove(publicKey: string): void {
    this.#users.delete(publicKey)
  }

  isMetered(publicKey: string): boolean {
    return this.#users.get(publicKey)?.isOwn === false
  }

  authenticate(publicKey: string, nonce: string, signature: string): CompiledPermissions | undefined {
    const user = this.#users.get(publicKey)
    return user && isSignedBy(user.key, nonce, signature) ? user.permissions : undefined
  }
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}
