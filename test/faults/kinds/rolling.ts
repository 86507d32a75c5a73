import type { Fault } from '../fault.ts'
import type { Member } from '../harness/member.ts'

/** One after the other is stopped as a service manager stops it, started again, and serves before the next one goes. */
export const rollingRestarts: Fault[] = [
  rolling('all frontends', ({ frontends }) => frontends),
  rolling('all gateways', ({ gateways }) => gateways),
  rolling('all workers, engines kept', ({ workers }) => workers),
]

function rolling(name: string, membersOf: (cluster: Parameters<Fault['strike']>[0]) => Member[]): Fault {
  return {
    name: `restart ${name}`,
    group: 'rolling restart',
    holdMs: 0,
    async strike(cluster) {
      for (const member of membersOf(cluster)) {
        await member.stop()
        member.start()
        await member.serves()
      }
      return { keepsReplicas: true }
    },
  }
}
