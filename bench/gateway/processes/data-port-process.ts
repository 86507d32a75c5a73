import { REPLICAS_PREFIX } from '../../../src/api/data-port.ts'
import { startHttpServer } from '../../../src/http/server.ts'
import { silentLogger } from '../../../src/platform/run/log.ts'
import {
  dataPortCables,
  dataPortHandler,
  replicaHandler,
  replicaShortcut,
  type DataPortOptions,
} from '../../../src/worker/data-port/handler.ts'
import { enginePool } from '../../../src/worker/data-port/engine-call.ts'
import type { ServedReplica } from '../../../src/worker/data-port/target.ts'
import { answerMemory } from '../../worker/memory.ts'
import { MODEL_NAME } from '../messages.ts'
import { DATA_KEY } from '../table.ts'

/** A worker's data port in a process of its own. It has one replica for each engine, whose ports are given. */
const replicas = new Map(process.argv.slice(2).map((port, i) => [`replica-${i}`, replicaAt(Number(port), i)]))
const dataPort: DataPortOptions = {
  replicas: { find: (id: string) => replicas.get(id) },
  dataKey: () => DATA_KEY,
  checks: {},
  pool: enginePool(),
}
const server = await startHttpServer({
  listen: { host: '127.0.0.1', port: 0 },
  purpose: 'the bench',
  flag: '--none',
  handler: dataPortHandler(dataPort),
  allowCable: dataPortCables(dataPort),
  wire: { prefix: REPLICAS_PREFIX, handler: replicaHandler(dataPort), shortcut: replicaShortcut(dataPort) },
  log: silentLogger,
})
process.send?.({ port: server.address.port })
answerMemory()
process.once('disconnect', () => process.exit())

function replicaAt(port: number, i: number): ServedReplica {
  const spec = { generation: 1, model_name: MODEL_NAME }
  return { spec, key: `${MODEL_NAME}#${i}`, state: 'ready', port, beginRequest: () => () => {} }
}
