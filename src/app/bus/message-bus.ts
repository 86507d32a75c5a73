import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { permissionsFor, type BusRole } from '../../api/bus/subjects.ts'
import { startBroker, type Broker, type BrokerEvent } from '../../bus/broker/broker.ts'
import type { BusDeps } from '../../bus/bus.ts'
import type { BusTls } from '../../bus/connect.ts'
import { newSeed, publicKeyOf } from '../../bus/nkey.ts'
import { mintUserJwt, readAccount, type Signer } from '../../bus/user-jwt.ts'
import { busUrlFor, type Peer } from './bus-address.ts'
import type { Config } from '../../cli/config/options.ts'
import { clusterCa, issuePair } from '../../control/joining/cluster-ca.ts'
import { formatAddress, hostAndPort, isLoopback, reachableAddress, type Address } from '../../platform/address.ts'
import { AppError } from '../../platform/errors.ts'
import { fileProblem } from '../../platform/file-problem.ts'
import { listenError } from '../../http/server/listen.ts'
import type { Logger } from '../../platform/run/log.ts'
import { readPair, type CertificatePair } from '../../platform/tls/certificate-pair.ts'
import { readTrust } from '../../platform/tls/trust.ts'

/** The bus of a frontend: the embedded broker, or a NATS server. */
export interface MessageBus {
  /** The URL as seen from this machine; without credentials. */
  url: string
  /** How nodes and gateways verify it, when it is encrypted. */
  certificate: { bus_ca?: string; bus_name?: string }
  /** The connection settings of a role in this process. */
  client(role: BusRole): Omit<BusDeps, 'log'>
  /** The URL for a node. Throws when the node could not reach the bus at all. */
  urlFor(peer: Peer): string
  /** What an approved node shows in addition to its key, if anything. */
  jwtFor(node: BusNode): string | null
  /** Admits an approved node, confined to its own subjects. */
  admit(node: BusNode): void
  /** Disconnects a removed node. */
  expel(node: BusNode): void
  /** Admits a gateway process; returns what it shows in addition to its key, if anything. */
  admitGateway(gateway: BusGateway): string | null
  dispose(): Promise<void>
}

export interface BusNode {
  nodeId: string
  publicKey: string
}

export interface BusGateway {
  gatewayId: string
  publicKey: string
}

export interface MessageBusOptions {
  natsUrl: string | undefined
  natsTls?: BusTls | undefined
  /** For the embedded bus. `auto`: encrypted when other machines can reach it. */
  tls?: { mode: 'auto' | 'on' | 'off'; clusterSecret: string }
  /** Signs the users of a NATS server with accounts. */
  accountSeedFile: string | undefined
  /** Whether a server without accounts may be on another machine. */
  isInsecure: boolean
  /** The configured address; without it, the default port or the next free one on `defaultHost`. */
  listen: Address | undefined
  defaultHost: string
  /** Nodes that are approved already: they may reconnect before any other part has started. */
  approved: readonly BusNode[]
}

const DEFAULT_PORT = 4222
const PORTS_TO_TRY = 20
/** How long a removed node, or a stolen key, can still connect at most. Renewed well before its end. */
const JWT_LIFE_MS = 60 * 60_000
/**
 * The maximum number of gateway processes on the embedded bus; beyond it, the one that asked longest ago must ask
 * again.
 */
const MOST_GATEWAYS = 1000

export async function openMessageBus(options: MessageBusOptions, log: Logger): Promise<MessageBus> {
  const { natsUrl, accountSeedFile, isInsecure, natsTls = {} } = options
  if (natsUrl === undefined) return embedded(options, log)
  if (accountSeedFile !== undefined) return accounts(natsUrl, natsTls, readSeedFile(accountSeedFile))
  if (!isInsecure && !isLoopback(reachOf(natsUrl).listen.host)) {
    const text =
      'On a NATS server without accounts any node can pass itself off as another and hear what others are told.'
    const how = 'flotilla nats setup writes the configuration of one with accounts; --insecure takes it as it is.'
    throw new AppError('usage', `${text} ${how}`)
  }
  log.warn(
    'The NATS server is used without accounts: any node can pass itself off as another. --nats-account-seed-file confines each to its own subjects.',
  )
  return shared(natsUrl, natsTls)
}

async function embedded(options: MessageBusOptions, log: Logger): Promise<MessageBus> {
  const users = options.approved.map(userOf)
  /** Ordered by time of the request, the oldest first. */
  const gateways = new Set<string>()
  const tls = brokerTls(options)
  const broker = await startOnFreePort(options, tls?.pair, users, (event) => log.debug(event, 'bus'))
  const listen = { host: broker.host, port: broker.port }
  const protocol = tls ? 'tls:' : 'nats:'
  const url = `${protocol}//${formatAddress(reachableAddress(listen))}`
  const reach = { protocol, listen, flag: `--bus-listen 0.0.0.0:${broker.port}` }
  return {
    url,
    certificate: tls ? { bus_ca: tls.ca, bus_name: BUS_NAME } : {},
    client(role) {
      // Roles in this process need no key that outlives it.
      const seed = newSeed()
      const clientId = randomUUID()
      broker.setUser(publicKeyOf(seed), permissionsFor(role, clientId), true)
      return { address: { url, seed, tls: tls && { ca: tls.ca, name: BUS_NAME } }, role, clientId }
    },
    urlFor: (peer) => busUrlFor(peer, reach),
    jwtFor: () => null,
    admit(node) {
      const { publicKey, permissions } = userOf(node)
      broker.setUser(publicKey, permissions)
    },
    expel: ({ publicKey }) => broker.removeUser(publicKey),
    admitGateway({ gatewayId, publicKey }) {
      gateways.delete(publicKey)
      gateways.add(publicKey)
      broker.setUser(publicKey, permissionsFor('gateway', gatewayId))
      const [oldest] = gateways
      if (gateways.size > MOST_GATEWAYS && oldest !== undefined && gateways.delete(oldest)) broker.removeUser(oldest)
      return null
    },
    dispose: () => broker.dispose(),
  }
}

/** A NATS server with accounts: it lists no users, each one shows a JWT that we have signed. */
function accounts(natsUrl: string, tls: BusTls, signer: Signer): MessageBus {
  const reach = reachOf(natsUrl)
  const mint = (publicKey: string, role: BusRole, clientId: string): string => {
    const user = { publicKey, name: `flotilla ${role} ${clientId}`, lifeMs: JWT_LIFE_MS }
    return mintUserJwt(signer, { ...user, permissions: permissionsFor(role, clientId) }, Date.now())
  }
  return {
    url: urlOf(reach),
    certificate: vouchedBy(tls),
    client(role) {
      const seed = newSeed()
      const clientId = randomUUID()
      return {
        address: { url: urlOf(reach), seed, tls, jwt: () => mint(publicKeyOf(seed), role, clientId) },
        role,
        clientId,
      }
    },
    urlFor: (peer) => busUrlFor(peer, reach),
    jwtFor: ({ nodeId, publicKey }) => mint(publicKey, 'node', nodeId),
    admit() {},
    // The account's key alone cannot revoke its JWT; that ends within the hour.
    expel() {},
    admitGateway: ({ gatewayId, publicKey }) => mint(publicKey, 'gateway', gatewayId),
    dispose: async () => {},
  }
}

/** A NATS server whose operator manages its users, if it has any. */
function shared(natsUrl: string, tls: BusTls): MessageBus {
  const reach = reachOf(natsUrl)
  return {
    url: urlOf(reach),
    certificate: vouchedBy(tls),
    client: (role) => ({ address: { url: natsUrl, tls }, role, clientId: randomUUID() }),
    urlFor: (peer) => busUrlFor(peer, reach),
    jwtFor: () => null,
    admit() {},
    expel() {},
    admitGateway: () => null,
    dispose: async () => {},
  }
}

/**
 * The name in the embedded bus's certificate. A fixed name: its CA is the cluster's own, and its address may change.
 */
const BUS_NAME = 'flotilla-bus'

/** Made at each start: every process that has the cluster's CA can verify it. */
function brokerTls({ tls, listen, defaultHost }: MessageBusOptions): { pair: CertificatePair; ca: string } | undefined {
  const isLocal = isLoopback((listen ?? { host: defaultHost }).host)
  if (!tls || tls.mode === 'off' || (tls.mode === 'auto' && isLocal)) return undefined
  const ca = clusterCa(tls.clusterSecret)
  return { pair: issuePair(ca, 'server', BUS_NAME, Date.now()), ca: ca.certificate }
}

/** Nodes get the CA with their credentials; this process's own certificate stays here. */
function vouchedBy({ ca }: BusTls): MessageBus['certificate'] {
  return ca === undefined ? {} : { bus_ca: ca }
}

/** What `--nats-ca`, `--nats-cert` and `--nats-key` name. */
export function readNatsTls(config: Pick<Config, 'nats_ca' | 'nats_cert' | 'nats_key'>): BusTls {
  const { nats_ca: ca, nats_cert: cert, nats_key: key } = config
  const pair = cert !== undefined && key !== undefined ? readPair({ cert, key }) : {}
  return { ca: readTrust(ca, undefined).ca, ...pair }
}

type Reach = Parameters<typeof busUrlFor>[1]

function reachOf(natsUrl: string): Reach {
  const { protocol, host } = new URL(natsUrl)
  const listen = hostAndPort(host, DEFAULT_PORT)
  if (!listen) throw new AppError('usage', '--nats-url: expected a URL such as nats://host:4222.')
  return { protocol, listen, flag: '--nats-url and an address that they can reach' }
}

function urlOf({ protocol, listen }: Reach): string {
  return `${protocol}//${formatAddress(listen)}`
}

function userOf({ nodeId, publicKey }: BusNode): { publicKey: string; permissions: ReturnType<typeof permissionsFor> } {
  return { publicKey, permissions: permissionsFor('node', nodeId) }
}

function readSeedFile(file: string): Signer {
  try {
    return readAccount(readFileSync(file, 'utf8'), file)
  } catch (error) {
    if (error instanceof AppError) throw error
    throw new AppError('usage', `Cannot read the seed of the NATS account in ${file}: ${fileProblem(error)}.`, {
      cause: error,
    })
  }
}

/** A configured port must be free; the default moves on to the next free one. */
async function startOnFreePort(
  { listen, defaultHost }: MessageBusOptions,
  tls: CertificatePair | undefined,
  users: ReturnType<typeof userOf>[],
  onEvent: (event: BrokerEvent) => void,
): Promise<Broker> {
  for (let i = 0; ; i += 1) {
    const address = listen ?? { host: defaultHost, port: DEFAULT_PORT + i }
    try {
      return await startBroker({ ...address, users, onEvent, ...(tls ? { tls } : {}) })
    } catch (error) {
      const inUse = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
      if (inUse && !listen && i < PORTS_TO_TRY) continue
      throw error instanceof AppError ? error : listenError(error as Error, address, 'the bus', '--bus-listen')
    }
  }
}
