import { banner } from './cli/banner.ts'
import type { Config } from './config/options.ts'
import { seedFirstStart } from './control/first-start.ts'
import type { ReplicaState } from './core/types.ts'
import { sleep, systemClock as clock } from './platform/clock.ts'
import { openDataFolder } from './platform/data-folder.ts'
import type { Logger } from './platform/log.ts'
import { version } from './platform/version.ts'
import { runRoles } from './run-roles.ts'
import { announce, startFrontend, type Frontend, type FrontendOptions } from './start-frontend.ts'
import { startLocalWorker } from './start-local-worker.ts'
import { listReplicas } from './store/replicas.ts'
import { listRules } from './store/rules.ts'
import { loadIdentity } from './worker/identity.ts'
import type { Worker } from './worker/start-worker.ts'

/** The banner waits this long for the first replica, so that the command it prints works when pasted. */
const FIRST_REPLICA_MS = 10_000
/** What has no replica by then waits for something that we cannot wait for: another machine, a program to be installed. */
const PLACED_WITHIN_MS = 1500
const ON_THE_WAY: readonly ReplicaState[] = ['reserved', 'installing', 'loading', 'ready']
const POLL_MS = 20

/** `flotilla up`: control, gateway and one worker in this process, until a signal says otherwise. */
export function runUp(config: Config): Promise<number> {
  return runRoles(config, async (log, life) => {
    const folder = openDataFolder(config.data)
    life.own('data folder', () => folder.dispose())
    const identity = loadIdentity(folder.file('node.seed'))
    let worker: Worker | undefined
    const options: FrontendOptions = {
      config,
      folder,
      log,
      life,
      isOurs: (publicKey) => publicKey === identity.publicKey,
      alongside: { name: 'worker', dispose: () => worker?.dispose() },
      checks: { worker: () => (worker ? worker.problem() : 'starting') },
      prepare: seedFirstStart,
    }
    const frontend = await startFrontend(options)
    const where = {
      frontendUrls: [frontend.url],
      joinToken: frontend.joinToken(),
      identity,
      busAddress: busAddressOf(config),
      frontendFolder: folder.file('models'),
    }
    worker = await startLocalWorker(config, where, folder.path, log)
    await worker.joined
    tellRemoval(worker, log)
    const models = await firstReplicas(frontend)
    announce(frontend, options)
    const colour = process.stdout.isTTY && !process.env['NO_COLOR']
    return { banner: banner({ url: frontend.url, folder: folder.path, models, version, colour }) }
  })
}

/** A NATS server without accounts is reached with the user that its URL names, by this worker, too. */
function busAddressOf({ nats_url: url, nats_account_seed_file: seedFile }: Config): { url: string } | undefined {
  return url !== undefined && seedFile === undefined ? { url } : undefined
}

/** Control and gateway go on: others may depend on them. */
function tellRemoval(worker: Worker, log: Logger): void {
  void worker.departed.then(({ message }) => {
    log.error({ why: message }, 'this machine is no longer a node of the cluster; a restart lets it join again')
    return worker.dispose()
  })
}

/**
 * Waits until every model that is kept running answers, but not for ever; returns those that do. The store is asked as
 * well: after a crash the gateway may for a moment still know replicas that went with the last run.
 */
async function firstReplicas({ db, gateway }: Frontend): Promise<string[]> {
  const rules = await listRules(db)
  const kept = rules.filter((rule) => rule.min_replicas > 0 || rule.spread_all).map((rule) => rule.model_name)
  const beganMs = clock.nowMs()
  for (;;) {
    const replicas = await listReplicas(db)
    const isAny = (modelName: string, states: readonly ReplicaState[]): boolean =>
      replicas.some((replica) => replica.modelName === modelName && states.includes(replica.state))
    const serving = kept.filter((modelName) => isAny(modelName, ['ready']) && gateway.readyReplicas(modelName) > 0)
    const waitedMs = clock.nowMs() - beganMs
    const isComing = (modelName: string): boolean =>
      !serving.includes(modelName) && (waitedMs < PLACED_WITHIN_MS || isAny(modelName, ON_THE_WAY))
    if (!kept.some(isComing) || waitedMs >= FIRST_REPLICA_MS) return serving
    await sleep(clock, POLL_MS)
  }
}
