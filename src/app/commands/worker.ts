import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { Config } from '../../cli/config/options.ts'
import { openDataFolder } from '../../platform/data-folder.ts'
import { AppError } from '../../platform/errors.ts'
import { fileProblem } from '../../platform/file-problem.ts'
import type { Lifetime } from '../../platform/run/lifetime.ts'
import { readTrust } from '../../platform/tls/trust.ts'
import { openTracing } from '../compose/open-tracing.ts'
import { roleMetrics } from '../compose/role-metrics.ts'
import { runRoles, type Ending } from '../run-roles.ts'
import { startLocalWorker } from '../compose/start-local-worker.ts'
import { loadIdentity } from '../../worker/membership/identity.ts'
import type { Departure } from '../../worker/membership/membership.ts'

/** Exit codes: 2 is a usage mistake, as everywhere; 3 means that the cluster has removed this node. */
const REFUSED = 2
const REMOVED = 3

/** `flotilla worker`: this machine as a node of a cluster, until a signal or the cluster ends it. */
export function runWorker(config: Config): Promise<number> {
  return runRoles(config, async (log, life) => {
    const frontendUrls = config.join
    if (!frontendUrls) throw new AppError('usage', 'Which cluster? Name its frontend with --join http://host:8080.')
    const joinToken = readToken(config)
    const trust = readTrust(config.ca, config.fingerprint)
    const folder = openDataFolder(config.data)
    life.own('data folder', () => folder.dispose())
    const identity = loadIdentity(folder.file('node.seed'), config.rotate_node_key)
    const metrics = roleMetrics('worker')
    const tracer = openTracing(config, { log, life, metrics })?.('worker')
    const where = { frontendUrls, trust, joinToken, identity }
    const worker = await startLocalWorker(config, where, folder.path, log, { metrics, tracer })
    life.own('worker', () => worker.dispose())
    void worker.joined.then(
      () => {
        log.info({ node: config.node_name }, 'taking part in the cluster')
        writeReadyFile(config, life)
      },
      () => {},
    )
    const over = worker.departed.then((departure) => {
      if (departure.why === 'removed') log.warn('removed from the cluster: stopping')
      return endingOf(departure, config.node_name)
    })
    return { over }
  })
}

function endingOf({ why, message }: Departure, nodeName: string): Ending {
  if (why === 'refused') return { code: REFUSED, message }
  return {
    code: REMOVED,
    message: `The node ${nodeName} was removed from the cluster; its replicas have been stopped. To join anew, start the worker again.`,
  }
}

function readToken({ token, token_file: file }: Config): string {
  if (token !== undefined) return token
  if (file === undefined) {
    throw new AppError('usage', 'Joining needs a join token: --token-file <path>, or FLOTILLA_TOKEN.')
  }
  try {
    const text = readFileSync(file, 'utf8').trim()
    if (text !== '') return text
  } catch (error) {
    throw new AppError('usage', `Cannot read the join token: ${fileProblem(error)}.`, { cause: error })
  }
  throw new AppError('usage', `${file} is empty; it should hold a join token.`)
}

function writeReadyFile({ ready_file: path, node_name: node }: Config, life: Lifetime): void {
  if (!path) return
  writeFileSync(path, `${JSON.stringify({ node, pid: process.pid })}\n`)
  life.own('ready file', () => rmSync(path, { force: true }))
}
