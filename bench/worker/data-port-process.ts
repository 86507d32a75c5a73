import { startHttpServer } from '../../src/http/server.ts'
import { silentLogger } from '../../src/platform/run/log.ts'
import { dataPortHandler } from '../../src/worker/data-port/handler.ts'
import { answerMemory } from './memory.ts'
import { DATA_KEY, MODEL_NAME } from './messages.ts'

/** A worker's data port in a process of its own, with one replica: the engine on the port that is given. */
const port = Number(process.argv[2])
let inFlight = 0
const replica = {
  spec: { generation: 1, model_name: MODEL_NAME },
  key: `${MODEL_NAME}#0`,
  state: 'ready',
  port,
  beginRequest() {
    inFlight += 1
    return () => void (inFlight -= 1)
  },
}
const server = await startHttpServer({
  listen: { host: '127.0.0.1', port: 0 },
  purpose: 'the bench',
  flag: '--none',
  handler: dataPortHandler({ replicas: { find: () => replica }, dataKey: () => DATA_KEY, checks: {} }),
  log: silentLogger,
})
process.send?.({ port: server.address.port })
answerMemory()
process.once('disconnect', () => process.exit())
