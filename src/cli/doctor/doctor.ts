import type { Config } from '../config/options.ts'
import type { Address } from '../../platform/address.ts'
import { AppError } from '../../platform/errors.ts'
import { findCluster, type Cluster } from '../cluster.ts'
import { counted } from '../terminal/format.ts'
import { painter, type Look } from '../terminal/style.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { pad } from '../terminal/text-width.ts'
import { wrap } from '../terminal/wrap.ts'
import { lookAtCluster } from './cluster-checks.ts'
import { broken, note, ok, type Finding } from './finding.ts'
import { lookAtDisk, lookAtFolder, lookAtGpus, lookAtOpenFiles, lookAtPort, lookAtProgram } from './machine.ts'
import { whyUnreachable } from '../../http/client/reach-port.ts'

/** Runs all checks and prints the findings. The exit code says whether something is broken. */
export async function doctor(config: Config, terminal: Terminal): Promise<number> {
  const findings = await lookAtAll(config)
  const isBroken = findings.some(({ state }) => state === 'broken')
  if (config.json) terminal.print(JSON.stringify({ ok: !isBroken, findings }, null, 2))
  else terminal.print(render(findings, terminal).join('\n'))
  return isBroken ? 1 : 0
}

async function lookAtAll(config: Config): Promise<Finding[]> {
  const { data, listen, worker_listen: workerListen, database_url: databaseUrl, nats_url: natsUrl, join } = config
  const cluster = whichCluster(config)
  const isHere = !(cluster instanceof AppError) && cluster.folder !== undefined
  const machine = [
    lookAtProgram(),
    lookAtFolder(data),
    lookAtDisk(data),
    ...[lookAtOpenFiles()].filter((one) => one !== undefined),
    ...(await lookAtGpus()),
    // A cluster that runs here uses its ports already.
    ...(isHere ? [] : await lookAtPorts(listen, workerListen)),
    ...(databaseUrl === undefined ? [] : [await lookAtUrl('database', databaseUrl, 5432, '--database-url')]),
    ...(natsUrl === undefined ? [] : [await lookAtUrl('nats server', natsUrl, 4222, '--nats-url')]),
    ...(await Promise.all((join ?? []).map((url) => lookAtUrl('frontend to join', url, 80, '--join')))),
  ]
  if (!(cluster instanceof AppError)) return [...machine, ...(await lookAtCluster(cluster))]
  const isNamed = config.url !== undefined
  const fix = 'Start one with flotilla up, or name one with --url and --key.'
  return [...machine, isNamed ? broken('frontend', cluster.message, fix) : note('frontend', 'none runs here', fix)]
}

function lookAtPorts(listen: Address, workerListen: Address): Promise<Finding[]> {
  return Promise.all([
    lookAtPort('port for the API', '--listen', listen),
    lookAtPort('port for data', '--worker-listen', workerListen),
  ])
}

function whichCluster(config: Config): Cluster | AppError {
  try {
    return findCluster(config)
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}

/** Only host and port are printed: the rest of such a URL may be secret. */
async function lookAtUrl(what: string, text: string, usualPort: number, flag: string): Promise<Finding> {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || url.hostname === '') return broken(what, 'its URL cannot be read', `See ${flag} in flotilla up --help.`)
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : usualPort)
  const at = `${url.hostname}:${port}`
  const why = await whyUnreachable({ host: url.hostname.replaceAll(/[[\]]/g, ''), port })
  if (why === undefined) return ok(what, `${at} answers`)
  return broken(what, `${at} cannot be reached: ${why}`, `Start it, open the way to it, or mend ${flag}.`)
}

const SIGNS: Record<Finding['state'], { sign: string; look: Look }> = {
  ok: { sign: 'ok', look: 'green' },
  note: { sign: 'note', look: 'yellow' },
  broken: { sign: 'FAIL', look: 'red' },
}

function render(findings: readonly Finding[], { columns, colour }: Terminal): string[] {
  const paint = painter(colour)
  const widest = Math.min(20, Math.max(...findings.map(({ what }) => what.length)))
  const indent = 4 + 2 + widest + 2
  const lines = findings.flatMap(({ what, state, text, fix }) => {
    const { sign, look } = SIGNS[state]
    const told = [...wrap(text, columns - indent), ...(fix === undefined ? [] : wrap(`→ ${fix}`, columns - indent))]
    const head = `${paint(look, pad(sign, 4))}  ${pad(what, widest)}  `
    return told.map((line, i) => (i === 0 ? head : ' '.repeat(indent)) + line)
  })
  const count = (state: Finding['state']): number => findings.filter((one) => one.state === state).length
  const [notes, failures] = [count('note'), count('broken')]
  const sum =
    failures > 0 ? paint('red', `${counted(failures, 'thing')} broken.`) : paint('green', 'Nothing is broken.')
  return [...lines, '', notes > 0 ? `${sum} ${counted(notes, 'thing')} to know.` : sum]
}
