import type { GatewayLoadMessage } from '../../api/bus/messages.ts'
import type { Bus } from '../../bus/bus.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { GatewayLoads } from './gateway-loads.ts'
import type { Heard } from '../views/live/picture.ts'
import { Traffic } from './traffic.ts'

/** What gateways report of their requests, for people. Every frontend hears all of it, not only the leader. */
export function hearGateways(
  bus: Pick<Bus, 'subscribe'>,
  clock: Clock,
  reach?: { hear(message: GatewayLoadMessage): void },
): Heard {
  const loads = new GatewayLoads(clock)
  const traffic = new Traffic(clock)
  bus.subscribe('gatewayLoad', (message) => {
    loads.hear(message)
    reach?.hear(message)
  })
  bus.subscribe('gatewayTraffic', (message) => traffic.hear(message))
  return {
    inFlightOf: (replica) => loads.inFlightOf(replica),
    waitingFor: (modelName) => loads.waitingFor(modelName),
    traffic: () => traffic.view(),
  }
}
