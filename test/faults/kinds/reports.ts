import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ClusterView } from '../../../src/api/admin/cluster-schemas.ts'
import { begunOn, type Fault } from '../fault.ts'
import type { Cluster } from '../harness/cluster.ts'
import type { Member } from '../harness/member.ts'
import { until } from '../harness/until.ts'
import { anEngine } from './kill.ts'
import { fill } from './machine.ts'

const SAID_WITHIN_MS = 20_000

/** What must not stop anything, and must be told: a log that is not taken, a store that takes no writes. */
export const reportFaults: Fault[] = [
  {
    name: 'a stuck log reader of the leader',
    group: 'machine',
    holdMs: 6000,
    longMs: 30_000,
    async strike(cluster) {
      const leader = await cluster.leader()
      const worker = cluster.workers[2]!
      leader.stopLogReader()
      // The leader logs that it is lost, and what takes its place.
      process.kill(anEngine(cluster, worker), 'SIGKILL')
      const heal = async (): Promise<void> => {
        await isSaid(cluster, leader, 'The log of this frontend is not written')
        leader.letLogReaderGoOn()
      }
      return { ...begunOn(worker.name), keepsReplicas: false, heal }
    },
  },
  {
    name: 'the log disk of a gateway is full',
    group: 'machine',
    holdMs: 6000,
    longMs: 30_000,
    async strike(cluster) {
      const gateway = cluster.smallLogDisk
      if (!gateway) return { keepsReplicas: true, leftOut: 'no small disk can be mounted here' }
      const { pid } = gateway
      const worker = cluster.workers[2]!
      const file = join(dirname(gateway.logFile), 'filling')
      fill(file)
      process.kill(anEngine(cluster, worker), 'SIGKILL')
      const heal = async (): Promise<void> => {
        rmSync(file)
        if (!gateway.isRunning || gateway.pid !== pid) throw new Error(`${gateway.name} has ended`)
      }
      return { ...begunOn(worker.name), keepsReplicas: false, heal }
    },
  },
  {
    name: 'PostgreSQL takes no writes',
    group: 'store',
    holdMs: 6000,
    longMs: 60_000,
    async strike(cluster) {
      const { ground } = cluster
      const name = new URL(ground.postgres.url).pathname.slice(1)
      // Sessions that are open keep what they began with.
      const anew = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'flotilla'`
      await ground.rows(`alter database "${name}" set default_transaction_read_only = on; ${anew}`)
      const heal = async (): Promise<void> => {
        await isSaid(cluster, await cluster.leader(), 'is read-only: a standby?')
        await ground.rows(
          `begin read write; alter database "${name}" reset default_transaction_read_only; commit; ${anew}`,
        )
      }
      return { keepsReplicas: true, heal }
    },
  },
]

/** It is the first of the problems, which is what `status` begins with. */
async function isSaid(cluster: Cluster, frontend: Member, text: string): Promise<void> {
  const isFirst = async (): Promise<boolean> => {
    const { problems } = await cluster.ask<ClusterView>(frontend, 'GET', '/api/cluster')
    return problems[0]?.text.includes(text) ?? false
  }
  await until(isFirst, SAID_WITHIN_MS, `${frontend.name} says first: ${text}`)
}
