import { startAttack } from '../../../fuzz/hostile/attack.ts'
import type { Fault } from '../fault.ts'
import type { Cluster } from '../harness/cluster.ts'

/** Workers heartbeat every 500 ms here. */
const LATE_AFTER_MS = 5000
const LOOK_EVERY_MS = 200
/**
 * Some thousand messages a second: all that members say to each other passes through the process of the suite, which would
 * be the bottleneck. As fast as it can: `npm run fuzz`.
 */
const BATCH = 100
const PAUSE_MS = 25

/** A member with valid credentials that wants to harm. No request may notice, and no other node may count as late. */
export const hostileMembers: Fault[] = [
  {
    name: 'an approved node sends anything',
    group: 'bus',
    holdMs: 6000,
    longMs: 60_000,
    async strike(cluster) {
      const node = await cluster.admitNode('hostile')
      const attack = await startAttack(node, { other: 'worker-1', engine: 'none', seed: 1 })
      const over = new AbortController()
      let oldestMs = 0
      const attacking = async (): Promise<void> => {
        while (!over.signal.aborted && (await attack.say(BATCH))) await pause(PAUSE_MS)
      }
      const watching = async (): Promise<void> => {
        while (!over.signal.aborted) {
          oldestMs = Math.max(oldestMs, await oldestHeartbeatMs(cluster))
          await pause(LOOK_EVERY_MS)
        }
      }
      const ended = Promise.all([attacking(), watching()])
      return {
        keepsReplicas: true,
        async heal() {
          over.abort()
          await ended
          await attack.stop()
          await cluster.ask(cluster.frontends[0]!, 'DELETE', `/api/nodes/${node.id}`)
          if (oldestMs <= LATE_AFTER_MS) return
          const logs = cluster.frontends.map((one) => `${one.name}:\n${one.logTail()}`)
          throw new Error(`A worker was last heard ${Math.round(oldestMs)} ms ago.\n${logs.join('\n')}`)
        },
      }
    },
  },
]

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Of the workers, by the clock of the store. */
async function oldestHeartbeatMs({ ground }: Cluster): Promise<number> {
  const [row] = await ground.rows<{ oldest: string | null }>(
    "select max(now_ms() - last_heartbeat) as oldest from nodes where name like 'worker-%'",
  )
  return Number(row?.oldest ?? 0)
}
