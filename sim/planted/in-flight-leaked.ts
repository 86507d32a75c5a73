import type { GatewayLoadMessage } from '../../src/api/bus/messages.ts'
import type { PlantedBug } from './planted-bug.ts'

/**
 * LocalAI counts requests in flight in the database, and nobody owns the numbers: those of a frontend that is killed stay,
 * and its replicas look busy to all others until somebody infers, after half an hour, that they cannot be. Here a gateway
 * that is gone without a word is believed for ever.
 */
export const inFlightLeaked: PlantedBug = {
  name: 'in-flight-leaked',
  what: 'requests of a gateway that was killed stay in flight for the others',
  caughtBy: 'in flight',
  withinSeeds: 5,
  scene: { nodes: 3, models: 3, hours: 0.2 },
  hooks() {
    const heard = new Map<string, Map<string, GatewayLoadMessage['counts']>>()
    return {
      bus(real, { name, role }) {
        if (role !== 'gateway') return real
        const reports = new Map<string, GatewayLoadMessage['counts']>()
        heard.set(name, reports)
        real.subscribe('gatewayLoad', ({ gateway, counts }) => {
          if (!gateway.startsWith(`${name}/`)) reports.set(gateway, counts)
        })
        return real
      },
      table(table, { name }) {
        const setElsewhere = table.setElsewhere.bind(table)
        table.setElsewhere = (sum) => setElsewhere(withThoseOf(heard.get(name) ?? new Map(), sum))
      },
    }
  },
}

/** At least what each gateway said last. */
function withThoseOf(
  reports: Map<string, GatewayLoadMessage['counts']>,
  sum: ReadonlyMap<string, number>,
): Map<string, number> {
  const all = new Map<string, number>()
  for (const counts of reports.values()) {
    for (const [replica, count] of Object.entries(counts)) all.set(replica, (all.get(replica) ?? 0) + count)
  }
  return new Map([...sum, ...all])
}
