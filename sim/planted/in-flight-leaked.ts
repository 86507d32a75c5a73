import type { Forwarded } from '../../src/http/proxy.ts'
import type { PlantedBug } from './planted-bug.ts'

/**
 * LocalAI counts requests in flight in the database, and nobody owns the numbers. What is counted up and not counted down,
 * because somebody died in between, stays: the replica looks busy until it is inferred, after half an hour, that it cannot
 * be. Here a gateway does not count a request down whose replica died under it.
 */
export const inFlightLeaked: PlantedBug = {
  name: 'in-flight-leaked',
  what: 'a request whose replica died stays in flight',
  caughtBy: 'in flight',
  withinSeeds: 5,
  scene: { nodes: 3, models: 3, hours: 0.1, faults: ['crash-engine', 'kill-machine'] },
  hooks() {
    // Counting down happens while the gateway hears how a request has ended.
    let isDeath = false
    return {
      forward: (real) => (request, response, upstream, forwarder, body) => {
        const onForwarded = (result: Forwarded): void => {
          isDeath = tellsOfDeath(result)
          forwarder.onForwarded(result)
          isDeath = false
        }
        real(request, response, upstream, { onForwarded }, body)
      },
      table(table) {
        const begin = table.begin.bind(table)
        table.begin = (...route) => {
          const end = begin(...route)
          return () => void (isDeath || end())
        }
      },
    }
  },
}

function tellsOfDeath(result: Forwarded): boolean {
  return (
    result.outcome === 'broken' ||
    result.outcome === 'unreachable' ||
    (result.outcome === 'refused' && result.status === 502)
  )
}
