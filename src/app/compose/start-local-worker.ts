import { join } from 'node:path'
import type { Config } from '../../cli/config/options.ts'
import { isLoopback } from '../../platform/address.ts'
import { systemClock as clock } from '../../platform/run/clock.ts'
import type { Logger } from '../../platform/run/log.ts'
import { version } from '../../platform/version.ts'
import { createHardwareProbe } from '../../worker/hardware/probe.ts'
import { startWorker, type Worker, type WorkerOptions } from '../../worker/start-worker.ts'

/** Long enough to restart a worker; if it does not come back, the machine should get its memory back. */
const ORPHAN_GRACE_MS = 60_000

/** The worker role on this machine, as the options describe it. */
export function startLocalWorker(
  config: Config,
  where: Pick<WorkerOptions, 'frontendUrls' | 'trust' | 'joinToken' | 'identity' | 'busAddress'> & {
    frontendFolder?: string
  },
  folder: string,
  log: Logger,
  { metrics, tracer }: Pick<WorkerOptions, 'metrics' | 'tracer'>,
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
  const { frontendFolder, ...joining } = where
  const workerFolder = join(folder, 'worker')
  const probe = createHardwareProbe({ folder: workerFolder, clock, log })
  const options: WorkerOptions = {
    ...joining,
    isNewCluster: config.new_cluster,
    nodeName: config.node_name,
    nodeType: config.node_type,
    labels: config.node_labels,
    maxReplicasPerModel: config.max_replicas_per_model,
    vramBudget: config.vram_budget ?? null,
    listen,
    advertise: config.advertise,
    dataTls: config.data_tls,
    healthListen: config.health_listen,
    version,
    replicas: {
      folder: workerFolder,
      enginePorts: config.engine_ports,
      limits: { drainMs: config.drain_s * 1000, orphanGraceMs: ORPHAN_GRACE_MS },
      restartEngines: config.restart_engines,
      keepEngines: config.keep_engines,
      confine: { user: config.engine_user, limits: config.engine_limits },
      profilesFolder: config.engine_profiles ?? join(folder, 'engine-profiles'),
      files: {
        quotaBytes: config.models_quota,
        bytesPerSecond: config.download_limit,
        sharedFolder: config.shared_models,
        hfEndpoint: config.hf_endpoint,
        hfToken: config.hf_token,
        allowSources: config.allow_sources,
        frontendFolder,
      },
    },
    measure: () => probe.measure(),
    metrics,
    tracer,
  }
  return startWorker(options, clock, log)
}
