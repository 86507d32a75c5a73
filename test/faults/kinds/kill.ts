import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { atGateway, begunOn, type Fault } from '../fault.ts'
import type { Cluster } from '../harness/cluster.ts'
import type { Member } from '../harness/member.ts'

/** Longer than a leader's lease, so that another takes over. */
const TAKEOVER_MS = 12_000

export const kills: Fault[] = [
  {
    name: 'kill -9 the leader',
    group: 'frontend',
    holdMs: TAKEOVER_MS,
    strike: async (cluster) => ({ ...(await killFor(await cluster.leader())), keepsReplicas: true }),
  },
  {
    name: 'kill -9 the follower',
    group: 'frontend',
    holdMs: 1000,
    strike: async (cluster) => ({ ...(await killFor(await cluster.follower())), keepsReplicas: true }),
  },
  {
    name: 'kill -9 a gateway',
    group: 'gateway',
    holdMs: 1000,
    async strike({ gateways }) {
      const gateway = gateways[0]!
      return { ...(await killFor(gateway)), ...atGateway(gateway.name), keepsReplicas: true }
    },
  },
  {
    name: 'kill -9 a worker, engines live on',
    group: 'worker',
    holdMs: 1000,
    async strike({ workers }) {
      const worker = workers[0]!
      return { ...(await killFor(worker)), ...begunOn(worker.name), keepsReplicas: true }
    },
  },
  {
    name: 'kill -9 a worker and its engines',
    group: 'worker',
    holdMs: 1000,
    async strike(cluster) {
      const worker = cluster.workers[1]!
      const engines = cluster.enginesOf(worker)
      const killed = await killFor(worker)
      for (const pid of engines) process.kill(-pid, 'SIGKILL')
      return { ...killed, ...begunOn(worker.name), keepsReplicas: false }
    },
  },
  {
    name: 'journal of a worker deleted, kill -9',
    group: 'worker',
    holdMs: 1000,
    async strike({ workers }) {
      const worker = workers[1]!
      rmSync(join(worker.data, 'worker', 'replicas'), { recursive: true })
      // Its engines can no longer be taken over: the watchdog and the next run of the worker end them.
      return { ...(await killFor(worker)), ...begunOn(worker.name), keepsReplicas: false }
    },
  },
  {
    name: 'kill -9 an engine',
    group: 'engine',
    holdMs: 0,
    async strike(cluster) {
      const worker = cluster.workers[2]!
      process.kill(anEngine(cluster, worker), 'SIGKILL')
      return { ...begunOn(worker.name), keepsReplicas: false }
    },
  },
]

async function killFor(member: Member): Promise<{ heal: () => Promise<void> }> {
  await member.kill()
  return { heal: async () => member.start() }
}

/** Of the model with the most replicas: several faults at once must not take all that there are of one. */
export function anEngine(cluster: Cluster, worker: Member): number {
  const pids = cluster.enginesOf(worker)
  const pid = pids.find((one) => modelOf(one) === 'four') ?? pids[0]
  if (pid === undefined) throw new Error(`${worker.name} has no engine.`)
  return pid
}

function modelOf(pid: number): string | undefined {
  const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  return args[args.indexOf('--model') + 1]
}
