import type { Problem } from '../../api/admin/cluster-schemas.ts'
import type { NodeView } from '../../api/admin/schemas.ts'
import { hostAndPort, isLoopback } from '../../platform/address.ts'
import { AppError } from '../../platform/errors.ts'
import { requestJson } from '../../http/client.ts'
import { version } from '../../platform/version.ts'
import { adminClient, reach } from '../admin-client.ts'
import type { Cluster } from '../cluster.ts'
import { counted, span } from '../terminal/format.ts'
import { plain } from '../terminal/text-width.ts'
import { lookAtCertificate } from './certificate.ts'
import { broken, note, ok, type Finding } from './finding.ts'
import { whyUnreachable } from '../../http/client/reach-port.ts'

const READY_WITHIN_MS = 10_000
/** Heartbeats and tokens use the store's clock, so that only large differences matter. */
const CLOCK_LIMIT_MS = 5000
const SILENT_MS = 60_000
/** Of a large fleet, the first ones suffice. */
const MOST_NODES = 50

/**
 * Checks the frontend, and what it reports of the cluster. Stops at the first problem that makes further checks
 * pointless.
 */
export async function lookAtCluster(cluster: Cluster): Promise<Finding[]> {
  const findings: Finding[] = []
  const { url, trust } = cluster
  let ready: Awaited<ReturnType<typeof requestJson>>
  try {
    ready = await reach(cluster, () =>
      requestJson(new URL('/readyz', url), { method: 'GET', token: cluster.key, timeoutMs: READY_WITHIN_MS, trust }),
    )
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return [broken('frontend', error.message, 'Start it with flotilla up, or name another with --url and --key.')]
  }
  findings.push(...lookAtReadiness(url, ready), lookAtClock(ready.dateMs), ...(await lookAtCertificate(cluster)))
  const api = adminClient(cluster)
  try {
    const nodes = await api.call('listNodes')
    findings.push(ok('admin key', `accepted (${cluster.keyFrom})`), ...(await lookAtNodes(nodes, api.nowMs())))
    const { problems, local_inference: localInference } = await api.call('showCluster')
    findings.push(...lookAtLocalInference(localInference))
    findings.push(...lookAtProblems(problems))
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const fix = 'Give the admin key of that cluster with --key or FLOTILLA_KEY.'
    findings.push(broken('admin key', error.message, fix))
  }
  return findings
}

/** Problems that cause others are listed one by one; for rules and replicas, only the first. */
const GRAVE: ReadonlySet<Problem['kind']> = new Set(['cluster', 'store', 'gateway', 'process'])

export function lookAtProblems(problems: readonly Problem[]): Finding[] {
  const grave = problems.filter(({ kind }) => GRAVE.has(kind))
  const findings = grave.map(({ kind, severity, text, advice }) => {
    const fix = plain(advice ?? 'The log of the frontend says more.')
    return severity === 'error' ? broken(kind, plain(text), fix) : note(kind, plain(text), fix)
  })
  const [first, ...more] = problems.filter(({ kind }) => !GRAVE.has(kind))
  if (first) {
    const text = `${counted(more.length + 1, 'problem')}, the first: ${plain(first.text)}`
    return [...findings, note('cluster', text, 'flotilla status shows all of them.')]
  }
  return findings.length > 0 ? findings : [ok('cluster', 'nothing is wrong with nodes, rules and models')]
}

/** A frontend of the release before does not say. */
function lookAtLocalInference(isOn: boolean | undefined): Finding[] {
  if (isOn === undefined) return []
  const text = isOn
    ? 'on: programs on the machine of the frontend need no key (--local-inference off, where a reverse proxy runs there)'
    : 'off: every request for inference needs a key'
  return [ok('local inference', text)]
}

function lookAtReadiness(url: string, { status, body }: { status: number; body: unknown }): Finding[] {
  const { checks = {}, notes = {} } = (body ?? {}) as {
    checks?: Record<string, string>
    notes?: Record<string, string>
  }
  const bad = Object.entries(checks).filter(([, text]) => text !== 'ok')
  const main =
    status === 200
      ? ok('frontend', `${url} is ready`)
      : broken(
          'frontend',
          `${url} is not ready: ${bad.map(([name, text]) => `${name} (${plain(text)})`).join(', ') || `status ${status}`}`,
          'Wait a moment if it has just started; else its log says why.',
        )
  const of = (name: string, good: string, fix: string): Finding =>
    notes[name] === undefined ? ok(name, good) : broken(name, plain(notes[name]), fix)
  return [
    main,
    of(
      'control',
      'the store answers and turns go well',
      'Look at the store: flotilla db check, and the log of the frontend.',
    ),
    of('bus', 'connected', 'Look at the NATS server, and at --nats-url and its credentials.'),
    of('table', 'gateways hear from control', 'The bus or the leading frontend is away: see there.'),
  ]
}

function lookAtClock(theirsMs: number | undefined): Finding {
  if (theirsMs === undefined) return note('clock', 'the frontend does not tell its time', 'Nothing to do.')
  // A date header has whole seconds.
  const offMs = Math.max(0, Math.abs(Date.now() - theirsMs) - 1000)
  if (offMs <= CLOCK_LIMIT_MS) return ok('clock', 'the same here and at the frontend')
  const text = `${span(offMs)} apart from the frontend`
  return broken('clock', text, 'Let NTP set both clocks: timedatectl set-ntp true.')
}

async function lookAtNodes(nodes: readonly NodeView[], nowMs: number): Promise<Finding[]> {
  const looked = await Promise.all(nodes.slice(0, MOST_NODES).map((node) => lookAtNode(node, nowMs)))
  const all = looked.flat()
  const fine = all.filter(({ state }) => state === 'ok')
  const rest =
    nodes.length > MOST_NODES
      ? [note('nodes', `${nodes.length - MOST_NODES} more were not looked at`, 'flotilla nodes lists all.')]
      : []
  // Of many that are fine one line is enough.
  if (fine.length > 5)
    return [...all.filter(({ state }) => state !== 'ok'), ok('nodes', `${fine.length} are fine, both ways`), ...rest]
  return [...all, ...rest]
}

/** Both directions: the frontend gets its heartbeats, and its data port answers here. */
async function lookAtNode(node: NodeView, nowMs: number): Promise<Finding[]> {
  const name = plain(node.name)
  const what = `node ${name}`
  if (!node.approved) return [note(what, 'waits for approval', `flotilla nodes approve ${name}`)]
  const silentMs = node.last_heartbeat === null ? Number.POSITIVE_INFINITY : nowMs - node.last_heartbeat
  if (silentMs > SILENT_MS) {
    const since = Number.isFinite(silentMs) ? `for ${span(silentMs)}` : 'ever since it joined'
    const fix = `On ${name}: is the worker running, and can it reach frontend and bus? flotilla doctor --join <frontend> there says.`
    return [broken(what, `silent ${since}`, fix)]
  }
  const wrong =
    node.version === version
      ? []
      : [note(what, `runs ${node.version}, this program is ${version}`, 'Update the older one.')]
  if (node.node_type === 'agent') return [ok(what, 'heard'), ...wrong]
  const address = hostAndPort(node.address)
  const why = address ? await whyUnreachable(address) : 'that is no address'
  if (why === undefined) return [ok(what, `heard, and its data port ${node.address} answers`), ...wrong]
  const isLocal = address !== undefined && isLoopback(address.host)
  const fix = isLocal
    ? `It listens for its own machine only: start its worker with --worker-listen 0.0.0.0:9090, or --advertise host:port.`
    : `Open that port on ${name} for the machines of gateways, or say with --advertise how it is reached.`
  return [note(what, `heard, but from here ${node.address} cannot be reached: ${why}`, fix), ...wrong]
}
