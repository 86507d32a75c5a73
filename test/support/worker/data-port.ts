import { once } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { MODEL_HEADER, REFUSAL_HEADER, replicaPath, REPLICAS_PREFIX } from '../../../src/api/data-port.ts'
import type { Handler } from '../../../src/http/server.ts'
import { request as httpRequest } from '../../../src/http/server/node-http.ts'
import { serve } from '../http/http.ts'
import type { Shortcut } from '../../../src/http/fast/path/fast-path.ts'
import {
  dataPortCables,
  dataPortHandler,
  dataPortUpgrades,
  replicaHandler,
  replicaShortcut,
  type DataPortOptions,
} from '../../../src/worker/data-port/handler.ts'
import { enginePool } from '../../../src/worker/data-port/engine-call.ts'
import type { ServedReplica } from '../../../src/worker/data-port/target.ts'

/** A replica that counts its requests, and that each of them ends once. */
export class TestReplica implements ServedReplica {
  spec = { generation: 7, model_name: 'm' }
  key = 'm#0'
  state = 'ready'
  port: number | undefined
  requestModel: string | undefined
  inFlight = 0
  begun = 0
  ended = 0

  constructor(port: number) {
    this.port = port
  }

  beginRequest(): () => void {
    this.inFlight += 1
    this.begun += 1
    let open = true
    return () => {
      this.ended += 1
      if (open) this.inFlight -= 1
      open = false
    }
  }
}

export interface DataPortStage extends Partial<DataPortOptions> {
  /** What takes the place of the shortcut; undefined when there is to be none. */
  shortcut?: (shortcut: Shortcut | undefined) => Shortcut | undefined
}

/** A data port in front of one engine, whose replica is `r` of generation 7, and who asks it as a gateway does. */
export async function aDataPort(engine: Handler | number, stage: DataPortStage = {}) {
  const { shortcut: inPlace = (one) => one, ...options } = stage
  const port = typeof engine === 'number' ? engine : Number(new URL(await serve(engine)).port)
  const replica = new TestReplica(port)
  const replicas = { find: (id: string) => (id === 'r' ? replica : undefined) }
  const pool = enginePool()
  onTestFinished(() => pool.destroy())
  const dataPort = { replicas, dataKey: () => 'right', checks: {}, pool, ...options }
  const shortcut = inPlace(replicaShortcut(dataPort)())
  const wire = { prefix: REPLICAS_PREFIX, handler: replicaHandler(dataPort), shortcut: () => shortcut }
  const more = { onUpgrade: dataPortUpgrades(dataPort), allowCable: dataPortCables(dataPort) }
  const url = await serve(dataPortHandler(dataPort), { wire, ...more })
  const ask = (path = '/v1/x', init: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> } = {}) =>
    fetch(`${url}${replicaPath('r', 7)}${path}`, { ...init, headers: { ...gatewayHeaders, ...init.headers } })
  return { url, replica, ask }
}

export const gatewayHeaders: Record<string, string> = { authorization: 'Bearer right', [MODEL_HEADER]: 'm' }

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  rawHeaders: string[]
  text: string
  isRefusal: boolean
}

/** A request that `fetch` does not make: any header, any pace. Resolves when the answer is whole; rejects when it is not. */
export function askRaw(
  url: string,
  options: { method?: string; headers?: OutgoingHttpHeaders | string[] },
  send: (outgoing: ReturnType<typeof httpRequest>) => void = (outgoing) => void outgoing.end(),
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(url, { agent: false, ...options })
    outgoing.once('error', reject)
    outgoing.once('response', (answer: IncomingMessage) => {
      answer.once('error', reject)
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      answer.once('end', () => {
        const { headers, rawHeaders, statusCode: status = 0 } = answer
        resolve({ status, headers, rawHeaders, text, isRefusal: REFUSAL_HEADER in headers })
      })
    })
    send(outgoing)
  })
}

/** An engine that speaks bytes, for what no HTTP library would say. Returns its port. */
export async function rawEngine(onConnection: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).once('close', () => sockets.delete(socket))
    onConnection(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** A raw engine that answers every request with these bytes, and then does what it is told. */
export function engineThatSays(bytes: string, then: (socket: Socket) => void = () => {}): Promise<number> {
  return rawEngine((socket) => socket.once('data', () => socket.write(bytes, () => then(socket))))
}
