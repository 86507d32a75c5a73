import { announce } from '../compose/announce.ts'
import { availableParallelism } from 'node:os'
import { banner } from '../../cli/banner.ts'
import type { Config } from '../../cli/config/options.ts'
import { seedFirstStart, type FirstStart } from '../../control/changes/first-start.ts'
import { dashboardLink } from '../front/dashboard-link.ts'
import { firstReplicas, standIn } from '../compose/first-replicas.ts'
import { systemClock as clock } from '../../platform/run/clock.ts'
import type { BusAddress } from '../../bus/connect.ts'
import { readNatsTls } from '../bus/message-bus.ts'
import { isLocalInferenceOn } from '../compose/local-inference.ts'
import { modelsFolderOf } from '../compose/models-folder-of.ts'
import { openDataFolder } from '../../platform/data-folder.ts'
import type { Logger } from '../../platform/run/log.ts'
import type { ListenerTls } from '../../platform/tls/listener-tls.ts'
import type { Trust } from '../../platform/tls/trust.ts'
import { knowsUtf8, toAscii, wantsColour } from '../../platform/terminal-looks.ts'
import { version } from '../../platform/version.ts'
import { stdoutOutput } from '../../platform/run/outputs.ts'
import { openTracing } from '../compose/open-tracing.ts'
import { roleMetrics } from '../compose/role-metrics.ts'
import { runRoles } from '../run-roles.ts'
import { startFrontend, type FrontendOptions } from '../compose/start-frontend.ts'
import { startLocalWorker } from '../compose/start-local-worker.ts'
import { loadIdentity } from '../../worker/membership/identity.ts'
import type { Worker } from '../../worker/start-worker.ts'

/** `flotilla up`: control, gateway and one worker in this process, until a signal ends it. */
export function runUp(config: Config): Promise<number> {
  return runRoles(config, async (log, life) => {
    const folder = openDataFolder(config.data)
    life.own('data folder', () => folder.dispose())
    const identity = loadIdentity(folder.file('node.seed'), config.rotate_node_key)
    const metrics = roleMetrics('up')
    const tracing = openTracing(config, { log, life, metrics })
    let worker: Worker | undefined
    const options: FrontendOptions = {
      config,
      folder,
      log,
      life,
      metrics,
      tracer: tracing?.('gateway'),
      isOurs: (publicKey) => publicKey === identity.publicKey,
      alongside: { name: 'worker', dispose: () => worker?.dispose() },
      checks: { worker: () => (worker ? worker.problem() : 'starting') },
      prepare: (db) => seedFirstStart(db, firstStartOf(config)),
    }
    const frontend = await startFrontend(options)
    const where = {
      frontendUrls: [frontend.url],
      trust: pinned(frontend.tls),
      joinToken: frontend.joinToken(),
      identity,
      busAddress: busAddressOf(config),
      frontendFolder: modelsFolderOf(config, folder),
    }
    worker = await startLocalWorker(config, where, folder.path, log, { metrics, tracer: tracing?.('worker') })
    await worker.joined
    tellRemoval(worker, log)
    const { serving, absent } = await firstReplicas(frontend, { clock, placement: config.placement, say })
    const models = serving.length > 0 ? serving : await standIn(frontend.db, absent)
    announce(frontend, options)
    const colour = wantsColour(process.stdout)
    const dashboard = await dashboardLink(frontend, process.stdout.isTTY)
    const { url, tls } = frontend
    const certificate = tls?.isSelfSigned ? (config.tls_cert ?? folder.file('tls.crt')) : undefined
    const localInference = isLocalInferenceOn(config)
    const shown = { url, fingerprint: tls?.fingerprint, certificate, localInference, dashboard, folder: folder.path }
    return { banner: banner({ ...shown, models, absent, version, colour }) }
  })
}

/** A served folder brings its own models. */
function firstStartOf({ first_model: firstModel, models_dir: served }: Config): FirstStart {
  return { firstModel: served === undefined ? firstModel : 'none', cores: availableParallelism() }
}

function say(line: string): void {
  stdoutOutput().write(`${knowsUtf8() ? line : toAscii(line)}\n`)
}

/** A NATS server without accounts is reached with the user in its URL, by this worker, too. */
function busAddressOf(config: Config): BusAddress | undefined {
  const { nats_url: url, nats_account_seed_file: seedFile } = config
  return url !== undefined && seedFile === undefined ? { url, tls: readNatsTls(config) } : undefined
}

/** Control and gateway keep running: other machines may depend on them. */
function tellRemoval(worker: Worker, log: Logger): void {
  void worker.departed.then(({ message }) => {
    log.error({ why: message }, 'this machine is no longer a node of the cluster; a restart lets it join again')
    return worker.dispose()
  })
}

/** Trusts its own frontend by the certificate that it shows now. */
function pinned(tls: ListenerTls | undefined): Trust | undefined {
  return (
    tls && {
      get fingerprints() {
        return [tls.fingerprint]
      },
    }
  )
}
