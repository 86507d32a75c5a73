import { LoadSharing } from '../../../src/gateway/table/load-sharing.ts'
import { gatewayMetrics } from '../../../src/gateway/records/gateway-metrics.ts'
import { allowInference } from '../../../src/gateway/access/guard.ts'
import { inferenceApi } from '../../../src/gateway/request/inference.ts'
import { CountedTable } from '../../../src/gateway/start-gateway.ts'
import { GatewayTraffic } from '../../../src/gateway/records/traffic.ts'
import { systemClock as clock } from '../../../src/platform/run/clock.ts'
import type { ExchangeHandler } from '../../../src/http/exchange.ts'
import { startHttpServer } from '../../../src/http/server.ts'
import { silentLogger as log } from '../../../src/platform/run/log.ts'
import { Metrics } from '../../../src/platform/metrics/metrics.ts'
import { readPair } from '../../../src/platform/tls/certificate-pair.ts'
import { fixedTls } from '../../../src/platform/tls/listener-tls.ts'
import { answerMemory } from '../../worker/memory.ts'
import type { FlotillaOptions } from '../messages.ts'
import { fill } from '../table.ts'

/** Flotilla's gateway in a process of its own: the real handler on a real table. */
const { ports, isCounted, certificate, sharedPort } = JSON.parse(process.argv[2]!) as FlotillaOptions
const table = new CountedTable()
fill(
  table,
  ports.map((port) => `127.0.0.1:${port}`),
)
const api = inferenceApi({ table, clock, log })
if (isCounted) count()
const tls = certificate && fixedTls(readPair(certificate))
const shortcut = api.shortcut({ keys: table, clock, localInference: true })
const handler: ExchangeHandler = (request, response) =>
  api(request, response, allowInference(request, { keys: table, clock, localInference: true }))
const server = await startHttpServer({
  listen: { host: '127.0.0.1', port: sharedPort ?? 0 },
  sharesPort: sharedPort !== undefined,
  purpose: 'the bench',
  flag: '--none',
  handler,
  wire: { prefix: '/v1/', handler, shortcut: () => shortcut },
  tls: tls && { upgrade: () => tls.upgrade },
  log,
})
process.send?.({ port: server.address.port })
answerMemory()
process.once('disconnect', () => process.exit())

/** What a gateway in a cluster counts and tells others, to a bus on which nobody listens. */
function count(): void {
  const bus = { publish: () => {}, subscribe: () => {}, isConnected: () => true }
  const facts = { table, silentMs: () => 0, isStale: () => false, waitingFor: () => 0 }
  const metered = gatewayMetrics(new Metrics(), facts)
  const isModel = (name: string): boolean => table.model(name) !== undefined
  const traffic = new GatewayTraffic({ bus, clock, runId: 'bench', isModel })
  const sharing = new LoadSharing({ bus, clock, runId: 'bench', table })
  table.onCount = () => sharing.changed()
  api.onEnded((decision) => {
    metered.ended(decision)
    traffic.ended(decision)
  })
}
