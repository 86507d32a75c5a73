import { begunOn, type Fault } from '../fault.ts'
import type { Cluster } from '../harness/cluster.ts'
import type { Direction } from '../harness/relay.ts'

const HOLD_MS = 7000
/** Longer than it takes until a leader loses its lease and a node counts as lost. */
const LONG_MS = 20_000
type Link = [from: string, to: string]

const toWorkers = ({ name }: { name: string }, { workers }: Cluster): Link[] =>
  workers.map((worker) => [name, worker.name])

/** Nothing passes between two, in both directions or in one; neither learns that the other is gone. */
export const partitions: Fault[] = [
  ...both('the leader | PostgreSQL', async (cluster) => [[(await cluster.leader()).name, 'postgres']]),
  ...both('the leader | NATS', async (cluster) => [[(await cluster.leader()).name, 'nats']]),
  ...both('a gateway | NATS', async ({ gateways }) => [[gateways[0]!.name, 'nats']]),
  ...both('a worker | NATS', async ({ workers }) => [[workers[1]!.name, 'nats']]),
  ...both('a worker | frontends', async ({ workers, frontends }) =>
    frontends.map(({ name }): Link => [workers[2]!.name, name]),
  ),
  ...both('a gateway | a worker', async ({ gateways, workers }) => [[gateways[1]!.name, workers[0]!.name]], 'worker-1'),
  // It is alone: nothing reaches it and it reaches nobody.
  partition(
    'a worker | everybody',
    async (cluster) => {
      const { name } = cluster.workers[1]!
      const others = [...cluster.frontends, ...cluster.gateways].map((member): Link => [member.name, name])
      return [...others, [name, 'nats'], ...cluster.frontends.map((frontend): Link => [name, frontend.name])]
    },
    [],
    'worker-2',
  ),
  partition('the leader | workers', async (cluster) => toWorkers(await cluster.leader(), cluster), []),
]

type Links = (cluster: Cluster) => Promise<Link[]>

function both(name: string, links: Links, node?: string): Fault[] {
  return [
    partition(name, links, [], node),
    partition(name.replace('|', '→'), links, ['up'], node),
    partition(name.replace('|', '←'), links, ['down'], node),
  ]
}

/** `node`: requests to it pass there, so those that had begun may break off. */
function partition(name: string, links: Links, directions: Direction[], node?: string): Fault {
  return {
    name: `cut ${name}`,
    group: 'network',
    holdMs: HOLD_MS,
    longMs: LONG_MS,
    async strike(cluster) {
      const relays = (await links(cluster)).map(([from, to]) => cluster.links.get(from, to))
      for (const relay of relays) relay.hold(...directions)
      const heal = async (): Promise<void> => relays.forEach((relay) => relay.heal())
      return { heal, keepsReplicas: node === undefined, ...(node === undefined ? {} : begunOn(node)) }
    },
  }
}
