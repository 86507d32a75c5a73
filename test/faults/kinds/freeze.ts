import { atGateway, begunOn, type Fault, type Struck } from '../fault.ts'
import type { Member } from '../harness/member.ts'
import { anEngine } from './kill.ts'

const HOLD_MS = 8000
const LONG_MS = 30_000

/** SIGSTOP, and SIGCONT later: whoever it was goes on with what it knew, as after a long pause of a virtual machine. */
export const freezes: Fault[] = [
  {
    name: 'freeze the leader',
    group: 'frontend',
    // Longer than its lease: it wakes up as a leader of yesterday.
    holdMs: 13_000,
    longMs: LONG_MS,
    strike: async (cluster) => ({ ...freeze(await cluster.leader()), keepsReplicas: true }),
  },
  {
    name: 'freeze a gateway',
    group: 'gateway',
    holdMs: HOLD_MS,
    longMs: 20_000,
    strike: async ({ gateways }) => ({
      ...freeze(gateways[1]!),
      ...atGateway(gateways[1]!.name),
      keepsReplicas: true,
    }),
  },
  {
    name: 'freeze a worker',
    group: 'worker',
    holdMs: HOLD_MS,
    longMs: LONG_MS,
    strike: async ({ workers }) => ({ ...freeze(workers[3]!), ...begunOn(workers[3]!.name), keepsReplicas: false }),
  },
  {
    name: 'freeze an engine',
    group: 'engine',
    // Longer than it takes its worker to find out that it stands still.
    holdMs: 14_000,
    longMs: LONG_MS,
    async strike(cluster) {
      const worker = cluster.workers[0]!
      const pid = anEngine(cluster, worker)
      process.kill(pid, 'SIGSTOP')
      return { ...begunOn(worker.name), keepsReplicas: false, heal: async () => goOn(pid) }
    },
  },
]

function freeze(member: Member): Pick<Struck, 'heal'> {
  member.signal('SIGSTOP')
  return { heal: async () => member.signal('SIGCONT') }
}

/** It may have been ended meanwhile, and rightly so. */
function goOn(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT')
  } catch {
    // Gone.
  }
}
