import { allowInference } from '../../src/gateway/guard.ts'
import { inferenceApi } from '../../src/gateway/inference.ts'
import { systemClock } from '../../src/platform/clock.ts'
import type { ExchangeHandler } from '../../src/platform/exchange.ts'
import { startHttpServer } from '../../src/platform/http.ts'
import { silentLogger } from '../../src/platform/log.ts'
import { answerMemory } from '../worker/memory.ts'
import { tableOf } from './table.ts'

/** Flotilla's gateway in a process of its own: the real handler on a real table. The ports of its replicas are given. */
const table = tableOf(process.argv.slice(2).map((port) => `127.0.0.1:${port}`))
const api = inferenceApi({ table, clock: systemClock, log: silentLogger })
const handler: ExchangeHandler = (request, response) =>
  api(request, response, allowInference(request, { keys: table, clock: systemClock }))
const server = await startHttpServer({
  listen: { host: '127.0.0.1', port: 0 },
  purpose: 'the bench',
  flag: '--none',
  handler,
  wire: { prefix: '/v1/', handler },
  log: silentLogger,
})
process.send?.({ port: server.address.port })
answerMemory()
process.once('disconnect', () => process.exit())
