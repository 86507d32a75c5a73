import { join } from 'node:path'
import type { GatewayCredentials } from '../../api/admin/schemas.ts'
import { gatewayIdOf } from '../../api/gateway-id.ts'
import type { BusAddress } from '../../bus/connect.ts'
import { measuredBus } from '../../bus/measured-bus.ts'
import { MovingBus } from '../../bus/moving-bus.ts'
import { newSeed, publicKeyOf } from '../../bus/nkey.ts'
import type { Config } from '../../cli/config/options.ts'
import { Front } from '../front/front.ts'
import { frontDoor, type Rooms } from '../front/router.ts'
import { askFrontends, stayAdmitted } from '../../gateway/access/admission.ts'
import { isOllamaPath } from '../../gateway/ollama/ollama-api.ts'
import { openSavedTable } from '../../gateway/table/saved-table.ts'
import { startGateway, type Gateway } from '../../gateway/start-gateway.ts'
import {
  announceGateway,
  canSharePort,
  gatewayBanner,
  processSlot,
  toParent,
  untilParentEnds,
} from './gateway-process.ts'
import { openMessageBus, readNatsTls } from '../bus/message-bus.ts'
import { gatewayLimits } from '../compose/gateway-limits.ts'
import { isLocalInferenceOn } from '../compose/local-inference.ts'
import { openListenerTls } from '../compose/open-listener-tls.ts'
import { formatAddress, reachableAddress } from '../../platform/address.ts'
import { AnyFrontend } from '../../http/client/any-frontend.ts'
import { sleep, systemClock as clock } from '../../platform/run/clock.ts'
import { openDataFolder } from '../../platform/data-folder.ts'
import { AppError } from '../../platform/errors.ts'
import { pathOf, startHttpServer, type Handler } from '../../http/server.ts'
import type { Lifetime } from '../../platform/run/lifetime.ts'
import type { Logger } from '../../platform/run/log.ts'
import type { FamilySource, Metrics } from '../../platform/metrics/metrics.ts'
import { CLUSTER_FILE, KeptCluster } from '../../platform/kept-cluster.ts'
import { readOrCreateSecret } from '../../platform/secrets.ts'
import { readTrust } from '../../platform/tls/trust.ts'
import { WrongKeys } from '../../http/server/failure-throttle.ts'
import { openTracing } from '../compose/open-tracing.ts'
import { roleMetrics } from '../compose/role-metrics.ts'
import { isFigureMessage, SiblingFigures } from '../compose/metrics-of-processes.ts'
import { runRoles, type Running } from '../run-roles.ts'

const POLL_MS = 20

/** `flotilla gateway`: serves requests only. No store, no admin API; it needs a frontend only to find the bus. */
export async function runGateway(config: Config): Promise<number> {
  checkPlace(config)
  if (config.processes > 1 && processSlot() === undefined) {
    return (await import('./gateway-processes.ts')).runGatewayProcesses(config)
  }
  return runRoles(config, (log, life) => serve(config, log, life))
}

/** Frontends that know the bus. A worker names them the same way. */
function frontendsOf({ url, join: urls = [] }: Config): string[] {
  return url === undefined ? urls : [url, ...urls]
}

function checkPlace(config: Config): void {
  const { key, nats_url: natsUrl } = config
  if (natsUrl !== undefined) return
  if (frontendsOf(config).length === 0) {
    const text =
      'Which cluster? Name a frontend with --url http://host:8080, or its bus with --nats-url nats://host:4222.'
    throw new AppError('usage', text)
  }
  if (key === undefined) {
    const where = "it is in the file admin.key of the frontend's data folder"
    throw new AppError(
      'usage',
      `A gateway asks the frontend for its place with the admin key: give it with FLOTILLA_KEY; ${where}.`,
    )
  }
}

async function serve(config: Config, log: Logger, life: Lifetime): Promise<Running> {
  const slot = processSlot()
  // Each of several processes is a gateway of its own, with its own key and saved table.
  const folder = openDataFolder(slot === undefined ? config.data : join(config.data, `process-${slot.number}`))
  life.own('data folder', () => folder.dispose())
  const seed = readOrCreateSecret(folder.file('gateway.seed'), newSeed)
  const gatewayId = gatewayIdOf(publicKeyOf(seed))

  const front = new Front(clock)
  const limits = gatewayLimits(config)
  const tls = openListenerTls(config, log, life)
  const server = await startHttpServer({
    ...front.handlers(),
    tls: tls && { upgrade: () => tls.upgrade },
    limits: limits.http,
    listen: { ...config.listen, port: slot?.port ?? config.listen.port },
    sharesPort: slot !== undefined && canSharePort,
    purpose: 'the API',
    flag: '--listen',
    log,
  })
  life.own('http', () => server.dispose(0))
  const cluster = new KeptCluster(folder.file(CLUSTER_FILE))
  if (config.new_cluster) cluster.forget()
  const place = await placeOf(config, seed, cluster, log)
  const bus = new MovingBus({ role: 'gateway', seed, log, address: place.address })
  life.own('bus', () => bus.dispose())
  const savedTable = openSavedTable(folder.file('routing-table.json'), clock, log)
  const exposeNode = config.expose_node_header
  const certificateFile = folder.file('data-client.json')
  const metrics = roleMetrics('gateway')
  const gateway = startGateway({
    bus: measuredBus(bus, metrics, 'gateway'),
    clock,
    log,
    gatewayId,
    exposeNode,
    savedTable,
    cluster,
    certificateFile,
    metrics,
    tracer: openTracing(config, { log, life, metrics })?.('gateway'),
    limits,
  })
  life.own('gateway', () => gateway.dispose())
  const localInference = isLocalInferenceOn(config)
  const guard = { keys: gateway.keys, clock, localInference, wrongKeys: new WrongKeys(clock) }
  const metricsOfAll = slot && siblingFigures(slot.number, metrics)
  const inference = { handler: gateway.handler, ollama: gateway.handler.ollama, guard, metrics, metricsOfAll }
  const door = gatewayDoor(config, { inference, early: front.early }, gateway, () => bus.isConnected())
  front.serve(door, gateway, inference)
  life.own('running requests', () => server.dispose(config.drain_s * 1000))

  const over = new AbortController()
  const hasTable = (): boolean => gateway.problem() === undefined
  const admission = stayAdmitted({ ask: place.ask, link: bus, hasTable, clock, random: Math.random, log }, over.signal)
  life.own('admission', () => over.abort())
  await Promise.race([admission, untilTable(hasTable, over.signal)])

  const url = `${tls ? 'https' : 'http'}://${formatAddress(reachableAddress(server.address))}`
  const serving = { url, fingerprint: tls?.fingerprint }
  log.info({ url, gateway: gatewayId }, 'serving')
  if (slot !== undefined) {
    toParent({ serving })
    return { over: untilParentEnds().then(() => ({ code: 0 })) }
  }
  announceGateway(config, serving, life)
  return { banner: gatewayBanner(serving, folder.path) }
}

/** The metrics of all processes of this gateway, collected by their parent. */
function siblingFigures(number: number, own: Metrics): () => Promise<FamilySource> {
  const siblings = new SiblingFigures({ process: number, own, send: toParent, clock })
  process.on('message', (message) => isFigureMessage(message) && siblings.hear(message))
  return () => siblings.collect()
}

interface Place {
  ask: () => Promise<GatewayCredentials>
  /** A fixed address of the bus, which overrides the frontend's answer. */
  address?: BusAddress
}

/** Uses the configured bus; otherwise a frontend says where it is. */
async function placeOf(config: Config, seed: string, cluster: KeptCluster, log: Logger): Promise<Place> {
  const { nats_url: natsUrl, nats_account_seed_file: accountSeedFile, insecure: isInsecure, key } = config
  if (natsUrl === undefined) {
    const frontends = new AnyFrontend(frontendsOf(config), readTrust(config.ca, config.fingerprint), undefined, cluster)
    return { ask: askFrontends(frontends, key!, publicKeyOf(seed)) }
  }
  const natsTls = readNatsTls(config)
  const named = { natsUrl, natsTls, accountSeedFile, isInsecure, listen: undefined, defaultHost: '', approved: [] }
  const { address, clientId } = (await openMessageBus(named, log)).client('gateway')
  return { ask: async () => ({ gateway_id: clientId, bus_url: address.url, bus_jwt: null }), address }
}

/** Reports problems, but stays ready as long as there is a routing table: traffic need not go elsewhere. */
function gatewayDoor(
  config: Config,
  rooms: Omit<Rooms, 'checks'>,
  gateway: Gateway,
  isConnected: () => boolean,
): Handler {
  const door = frontDoor({
    ...rooms,
    checks: { gateway: () => gateway.problem() },
    notes: { table: () => gateway.note(), bus: () => (isConnected() ? undefined : 'not connected') },
  })
  const [url] = frontendsOf(config)
  const where = url === undefined ? 'at a frontend of the cluster' : `at ${new URL(url).origin}`
  return (request, response) => {
    const path = pathOf(request)
    if (!path.startsWith('/api/') || isOllamaPath(path)) return door(request, response)
    throw new AppError('not_found', `This is a gateway, which has no admin API: ${path} is to be found ${where}.`)
  }
}

async function untilTable(hasTable: () => boolean, signal: AbortSignal): Promise<void> {
  while (!hasTable() && !signal.aborted) await sleep(clock, POLL_MS, signal)
}
