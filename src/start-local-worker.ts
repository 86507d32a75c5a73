import type { Config } from './config/options.ts'
import { isLoopback } from './platform/address.ts'
import { systemClock as clock } from './platform/clock.ts'
import type { Logger } from './platform/log.ts'
import { version } from './platform/version.ts'
import { createHardwareProbe } from './worker/hardware/probe.ts'
import { startWorker, type Worker, type WorkerOptions } from './worker/start-worker.ts'

const REPLICA_LIMITS = { readyWithinMs: 10 * 60_000, drainMs: 30_000, killAfterMs: 5000 }

/** The worker role on this machine, as the options describe it. */
export function startLocalWorker(
  config: Config,
  where: Pick<WorkerOptions, 'frontendUrls' | 'joinToken' | 'identity' | 'busAddress'>,
  folder: string,
  log: Logger,
): Promise<Worker> {
  const listen = config.worker_listen
  const isAlone = isLoopback((config.advertise ?? listen).host)
  if (
    isAlone &&
    where.frontendUrls.some((url) => !isLoopback(new URL(url).hostname)) &&
    config.node_type === 'backend'
  ) {
    log.warn('gateways on other machines cannot reach a data port on loopback: see --worker-listen and --advertise')
  }
  const probe = createHardwareProbe({ folder, clock, log })
  const options: WorkerOptions = {
    ...where,
    nodeName: config.node_name,
    nodeType: config.node_type,
    labels: config.node_labels,
    maxReplicasPerModel: config.max_replicas_per_model,
    vramBudget: config.vram_budget ?? null,
    listen,
    advertise: config.advertise,
    enginePorts: config.engine_ports,
    version,
    limits: REPLICA_LIMITS,
    measure: () => probe.measure(),
  }
  return startWorker(options, clock, log)
}
