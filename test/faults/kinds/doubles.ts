import type { Problem } from '../../../src/api/admin/cluster-schemas.ts'
import type { Fault } from '../fault.ts'
import type { Cluster } from '../harness/cluster.ts'
import type { Member } from '../harness/member.ts'
import { until } from '../harness/until.ts'

/** A lease, some turns, and what a process takes to start on a busy machine. */
const TOLD_WITHIN_MS = 60_000

/** Two that claim to be one: the first goes on as if nothing had happened, and both addresses are in `status`. */
export const doubles: Fault[] = [
  {
    name: 'a copy of a worker, with its key',
    group: 'worker',
    holdMs: 3000,
    async strike(cluster) {
      const worker = cluster.workers[2]!
      const copy = await cluster.copyOf(worker)
      copy.start()
      for (const frontend of cluster.frontends) await told(cluster, frontend, worker.address, copy.address)
      return {
        keepsReplicas: true,
        async heal() {
          const engines = cluster.enginesOf(copy).length
          // Its goodbye must not count for the first one.
          await copy.stop()
          if (engines > 0) throw new Error(`The copy of ${worker.name} ran ${engines} engines.`)
        },
      }
    },
  },
  {
    name: 'a second leader on a copied database',
    group: 'frontend',
    holdMs: 5000,
    async strike(cluster) {
      const apart = await cluster.frontendApart()
      const leader = await cluster.leader()
      apart.start()
      for (const frontend of [leader, apart]) await told(cluster, frontend, leader.address, apart.address)
      // What it is told from now on, it does not do: the first would stop it, and it would be done again, without end.
      await cluster.ask(apart, 'POST', '/api/nodes/scheduling', {
        model_name: 'pair',
        min_replicas: 4,
        max_replicas: 4,
      })
      return { keepsReplicas: true, heal: () => apart.kill() }
    },
  },
]

async function told(cluster: Cluster, frontend: Member, ...addresses: string[]): Promise<void> {
  const isTold = async (): Promise<boolean> => {
    const { problems } = await cluster.ask<{ problems: Problem[] }>(frontend, 'GET', '/api/cluster')
    return problems.some(({ text }) => addresses.every((address) => text.includes(address)))
  }
  await until(isTold, TOLD_WITHIN_MS, `${frontend.name} tells of ${addresses.join(' and ')}`)
}
