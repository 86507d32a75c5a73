import { REPLICAS_PREFIX } from '../../api/data-port.ts'
import type { Check } from '../../http/server/health.ts'
import { startHttpServer } from '../../http/server.ts'
import { formatAddress, type Address } from '../../platform/address.ts'
import type { Lifetime } from '../../platform/run/lifetime.ts'
import type { Logger } from '../../platform/run/log.ts'
import type { DataTls } from './data-tls.ts'
import {
  dataPortCables,
  dataPortHandler,
  dataPortUpgrades,
  healthHandler,
  replicaHandler,
  replicaShortcut,
  type DataPortOptions,
} from './handler.ts'

export interface PortOptions {
  nodeType: 'backend' | 'agent'
  listen: Address
  /** Where gateways reach the data port, when it is not where it listens. */
  advertise: Address | undefined
  /** Where else to tell how the worker is, if anywhere. */
  healthListen: Address | undefined
}

/** How long requests on the data port may still run once their replicas have been drained. */
export const CLOSE_GRACE_MS = 1000

/** Tells how the worker is, where that is asked for. */
export async function openHealthPort(
  { healthListen: listen }: PortOptions,
  checks: Record<string, Check>,
  life: Lifetime,
  log: Logger,
): Promise<void> {
  if (!listen) return
  const handler = healthHandler(checks)
  const server = await startHttpServer({
    listen,
    purpose: "the worker's health",
    flag: '--health-listen',
    handler,
    log,
  })
  life.own('health port', () => server.dispose(0))
}

/** Returns what to tell the cluster: an empty host stands for the address that our registration comes from. */
export async function openDataPort(
  options: PortOptions,
  dataPort: DataPortOptions,
  tls: DataTls | undefined,
  life: Lifetime,
  log: Logger,
): Promise<string> {
  // There is none on an agent; the address says where it would be.
  if (options.nodeType === 'agent')
    return formatAddress(options.advertise ?? { host: '', port: options.listen.port || 9 })
  const purpose = "the worker's data port"
  const server = await startHttpServer({
    listen: options.listen,
    purpose,
    flag: '--worker-listen',
    handler: dataPortHandler(dataPort),
    wire: { prefix: REPLICAS_PREFIX, handler: replicaHandler(dataPort), shortcut: replicaShortcut(dataPort) },
    onUpgrade: dataPortUpgrades(dataPort),
    allowCable: dataPortCables(dataPort),
    tls: tls && { upgrade: () => tls.upgrade, mayBePlain: (socket) => tls.mayBePlain(socket) },
    // More than a gateway takes from its clients, because it adds some of its own.
    limits: { headerBytes: 32 * 1024, headers: 250 },
    log,
  })
  life.own('connections to engines', () => dataPort.pool?.destroy())
  life.own('data port', () => server.dispose(CLOSE_GRACE_MS))
  if (options.advertise) return formatAddress(options.advertise)
  const { host, port } = server.address
  return host === '0.0.0.0' || host === '::' ? `:${port}` : formatAddress({ host, port })
}
