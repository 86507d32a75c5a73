import type { GatewayCredentials } from '../../src/api/admin/schemas.ts'
import { SPOKEN } from '../../src/platform/peer-versions.ts'
import type { GatewayTrafficMessage, ReportedReplicaMessage } from '../../src/api/bus/messages.ts'
import { connectBus } from '../../src/bus/bus.ts'
import { newSeed, publicKeyOf } from '../../src/bus/nkey.ts'
import { silentLogger } from '../../src/platform/run/log.ts'
import type { Frontend } from './frontend-process.ts'

/** As often as a gateway tells of its load while it changes, and of what it has served. */
const LOAD_MS = 200
const TRAFFIC_MS = 1000
const LATENCY_MS = 800

/** Tells of requests that nobody made: those that the nodes say are in flight, each of which ends within a second or so. */
export async function startPretendedGateway(
  frontend: Frontend,
  reports: () => ReportedReplicaMessage[],
): Promise<{ stop: () => Promise<void> }> {
  const seed = newSeed()
  const path = '/api/gateways/credentials'
  const { gateway_id: gateway, bus_url: url } = await frontend.ask<GatewayCredentials>('POST', path, {
    protocol: SPOKEN.newest,
    public_key: publicKeyOf(seed),
  })
  const bus = await connectBus({ address: { url, seed }, role: 'gateway', clientId: gateway, log: silentLogger })
  const models: GatewayTrafficMessage['models'] = {}
  const replicas: GatewayTrafficMessage['replicas'] = {}
  let seq = 0
  const busy = () => reports().filter(({ in_flight: count }) => count > 0)
  const tellLoad = (): void => {
    const counts = Object.fromEntries(busy().map(({ id, in_flight: count }) => [id, count]))
    seq += 1
    bus.publish('gatewayLoad', { gateway, seq, counts })
  }
  const tellTraffic = (): void => {
    for (const { id, model_name: name, in_flight: count } of busy()) {
      const model = (models[name] ??= { requests: 0, errors: 0, first_byte_ms: 0, duration_ms: 0 })
      model.requests += count
      model.errors += Math.random() < 0.01 ? 1 : 0
      model.first_byte_ms += (count * LATENCY_MS) / 8
      model.duration_ms += count * LATENCY_MS * (0.8 + Math.random() * 0.4)
      replicas[id] = (replicas[id] ?? 0) + count
    }
    seq += 1
    bus.publish('gatewayTraffic', { gateway, seq, models, replicas })
  }
  const timers = [setInterval(tellLoad, LOAD_MS), setInterval(tellTraffic, TRAFFIC_MS)]
  return {
    async stop() {
      for (const timer of timers) clearInterval(timer)
      await bus.dispose()
    },
  }
}
