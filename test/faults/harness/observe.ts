import type { ClusterView } from '../../../src/api/admin/cluster-schemas.ts'
import type { ReplicaView } from '../../../src/api/admin/schemas.ts'
import { WANTED, type Cluster } from './cluster.ts'
import { enginesStartedIn, listeningPorts } from './engines.ts'
import type { Load } from './load.ts'

/**
 * What is not yet as it was meant to be: every process ready and without a note, one leader, every node healthy and the
 * cluster without problems, as many replicas as asked for and no others, each of them used by each gateway since
 * `sinceMs`. Nothing when all is well.
 */
export async function whatIsWrong(cluster: Cluster, load: Load, sinceMs: number): Promise<string[]> {
  const asked = await Promise.all([
    ...[...cluster.frontends, ...cluster.gateways].map((member) => notReady(member)),
    leaderless(cluster),
    ...cluster.frontends.map((frontend) => unhealthy(cluster, frontend)),
  ])
  return [...asked.flat(), ...unused(cluster, load, sinceMs)]
}

async function notReady({ name, url }: { name: string; url: string }): Promise<string[]> {
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2000) })
    const { checks, notes } = (await response.json()) as { checks: object; notes?: object }
    return response.ok && !notes ? [] : [`${name}: ${JSON.stringify(notes ?? checks)}`]
  } catch {
    return [`${name} does not answer`]
  }
}

async function leaderless({ ground }: Cluster): Promise<string[]> {
  try {
    const rows = await ground.rows<{ left: string }>('select expires_at - now_ms() as left from leases')
    return rows.length === 1 && Number(rows[0]!.left) > 0 ? [] : ['nobody leads']
  } catch {
    return ['the store does not answer']
  }
}

async function unhealthy(cluster: Cluster, frontend: Cluster['frontends'][number]): Promise<string[]> {
  try {
    const [view, replicas] = await Promise.all([
      cluster.ask<ClusterView>(frontend, 'GET', '/api/cluster'),
      cluster.ask<ReplicaView[]>(frontend, 'GET', '/api/replicas'),
    ])
    const nodes = view.nodes
      .filter(({ status }) => status !== 'healthy')
      .map((node) => `${node.name} is ${node.status}`)
    const models = Object.entries(WANTED).flatMap(([model, wanted]) => {
      const own = replicas.filter((replica) => replica.model_name === model)
      const states = own.map(({ state }) => state)
      return own.length === wanted && states.every((state) => state === 'ready') ? [] : [`${model}: ${states.join()}`]
    })
    return [...nodes, ...models, ...view.problems.map(({ text }) => text)]
  } catch (error) {
    return [`${frontend.name} cannot be asked: ${String(error)}`]
  }
}

/** By what clients were told: the table of a gateway cannot be asked, its answers say where they come from. */
function unused(cluster: Cluster, load: Load, sinceMs: number): string[] {
  const used = [...load.lastUsedMs].filter(([, usedMs]) => usedMs >= sinceMs).map(([key]) => key)
  return cluster.gateways.flatMap(({ name }) =>
    Object.entries(WANTED).flatMap(([model, wanted]) => {
      const count = used.filter((key) => key.startsWith(`${name} ${model} `)).length
      return count >= wanted ? [] : [`${name} has used ${count} of ${wanted} replicas of ${model}`]
    }),
  )
}

/** Who runs where; the same before and after what must not touch replicas. */
export async function replicaIds({ ground }: Cluster): Promise<string[]> {
  const rows = await ground.rows<{ id: string; generation: string }>('select id, generation from replicas order by id')
  return rows.map(({ id, generation }) => `${id}/${generation}`)
}

/**
 * What was left behind, when nobody asks for anything: engines without a row and rows without an engine, ports that
 * somebody listens on besides them, requests that count as running, demands that have run out, leases.
 */
export async function leaks(cluster: Cluster): Promise<string[]> {
  const { ground } = cluster
  type Row = { name: string; engines: string }
  const rows = await ground.rows<Row>(
    'select n.name, count(r.id) as engines from nodes n left join replicas r on r.node_id = n.id group by n.name',
  )
  const engines = cluster.workers.flatMap((worker) => {
    const range = cluster.enginePortsOf(worker)
    const wanted = Number(rows.find(({ name }) => name === worker.name)?.engines ?? 0)
    const running = enginesStartedIn(worker.folder).length
    const ports = listeningPorts(range).length
    const noted = cluster.enginesOf(worker).length
    const isSo = running === wanted && ports === wanted && noted === wanted
    return isSo ? [] : [`${worker.name}: ${wanted} rows, ${running} engines, ${noted} noted, ${ports} ports`]
  })
  // One that has run out is deleted by the next turn, and until then nobody minds it.
  const [demands] = await ground.rows<{ count: string }>(
    'select count(*) as count from demands where wanted_until < now_ms()',
  )
  const [leases] = await ground.rows<{ count: string }>('select count(*) as count from leases')
  const leftover = [
    ...(Number(demands!.count) === 0 ? [] : [`${demands!.count} demands`]),
    ...(Number(leases!.count) === 1 ? [] : [`${leases!.count} leases`]),
  ]
  return [...engines, ...leftover, ...(await inFlight(cluster))]
}

async function inFlight(cluster: Cluster): Promise<string[]> {
  const all = await Promise.all(
    cluster.frontends.map(async (frontend) => {
      const { nodes } = await cluster.ask<ClusterView>(frontend, 'GET', '/api/cluster')
      return nodes.filter((node) => node.in_flight_count > 0)
    }),
  )
  return all.flat().map((node) => `${node.in_flight_count} in flight on ${node.name}`)
}
