import { connectBus, type Bus } from '../../bus/bus.ts'
import { measuredBus } from '../../bus/measured-bus.ts'
import type { Config } from '../../cli/config/options.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import type { Lifetime } from '../../platform/run/lifetime.ts'
import type { Logger } from '../../platform/run/log.ts'
import { listNodes } from '../../store/nouns/nodes.ts'
import type { Database } from '../../store/sql.ts'
import { openMessageBus, readNatsTls, type MessageBus } from '../bus/message-bus.ts'

export interface BusesOptions {
  config: Config
  db: Database
  clusterSecret: string
  log: Logger
  life: Lifetime
  metrics: Metrics
}

export interface Buses {
  messageBus: MessageBus
  controlBus: Bus
  gatewayBus: Bus
}

/** The bus of the cluster, embedded or external, with a connection of control and one of the gateway. */
export async function openBuses({ config, db, clusterSecret, log, life, metrics }: BusesOptions): Promise<Buses> {
  const messageBus = await openMessageBus(
    {
      natsUrl: config.nats_url,
      natsTls: readNatsTls(config),
      tls: { mode: config.bus_tls, clusterSecret },
      accountSeedFile: config.nats_account_seed_file,
      isInsecure: config.insecure,
      listen: config.bus_listen,
      defaultHost: config.listen.host,
      approved: await listApproved(db),
    },
    log,
  )
  life.own('bus', () => messageBus.dispose())
  const controlBus = measuredBus(await connectBus({ ...messageBus.client('control'), log }), metrics, 'control')
  life.own('control bus', () => controlBus.dispose())
  const gatewayBus = measuredBus(await connectBus({ ...messageBus.client('gateway'), log }), metrics, 'gateway')
  life.own('gateway bus', () => gatewayBus.dispose())
  return { messageBus, controlBus, gatewayBus }
}

async function listApproved(db: Database): Promise<{ nodeId: string; publicKey: string }[]> {
  const approved = (await listNodes(db)).filter((node) => node.approved_at !== null)
  return approved.map((node) => ({ nodeId: node.id, publicKey: node.public_key }))
}
