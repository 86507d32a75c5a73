import { closeSync, constants, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { begunOn, type Fault } from '../fault.ts'
import type { Cluster } from '../harness/cluster.ts'
import { anEngine } from './kill.ts'

const HOUR_MS = 3_600_000
const PIECE = Buffer.alloc(64 * 1024, 1)

/** What befalls a machine: no space on its disk, a clock that is set. */
export const machineFaults: Fault[] = [
  {
    name: 'the disk of a worker is full',
    group: 'machine',
    holdMs: 6000,
    longMs: 15_000,
    async strike(cluster) {
      const worker = cluster.smallDisk
      if (!worker) return { keepsReplicas: true, leftOut: 'no small disk can be mounted here' }
      const file = join(worker.data, 'filling')
      fill(file)
      return { keepsReplicas: true, heal: async () => rmSync(file) }
    },
  },
  {
    name: 'the disk is full, an engine dies',
    group: 'machine',
    holdMs: 6000,
    longMs: 15_000,
    async strike(cluster) {
      const worker = cluster.smallDisk
      if (!worker) return { keepsReplicas: true, leftOut: 'no small disk can be mounted here' }
      const file = join(worker.data, 'filling')
      fill(file)
      process.kill(anEngine(cluster, worker), 'SIGKILL')
      return { ...begunOn(worker.name), keepsReplicas: false, heal: async () => rmSync(file) }
    },
  },
  clock('clock of the leader', HOUR_MS, (cluster) => cluster.leader()),
  clock('clock of the leader', -HOUR_MS, (cluster) => cluster.leader()),
  clock('clock of a gateway', HOUR_MS, async ({ gateways }) => gateways[0]!),
  clock('clock of a gateway', -HOUR_MS, async ({ gateways }) => gateways[1]!),
  clock('clock of a worker', HOUR_MS, async ({ workers }) => workers[1]!),
  clock('clock of a worker', -HOUR_MS, async ({ workers }) => workers[2]!),
]

/** Set in the middle of everything, and later set right. */
function clock(name: string, ms: number, memberOf: (cluster: Cluster) => Promise<Cluster['frontends'][number]>): Fault {
  return {
    name: `${name} ${ms > 0 ? '+' : '-'}1 h`,
    group: 'machine',
    holdMs: 5000,
    longMs: 15_000,
    async strike(cluster) {
      const member = await memberOf(cluster)
      member.shiftClock(ms)
      return { keepsReplicas: true, heal: async () => member.shiftClock(0) }
    },
  }
}

export function fill(path: string): void {
  const file = openSync(path, constants.O_WRONLY | constants.O_CREAT)
  try {
    for (;;) writeSync(file, PIECE)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    closeSync(file)
  }
}
