import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { withSharedReads } from '../../../src/http/fast/shared-reads.ts'
import { rawClient, type RawClient } from './raw-client.ts'

export interface SocketPair {
  /** As the wire has it. */
  taken: Socket
  client: RawClient
}

/** Both ends of a connection. */
export async function aSocketPair(): Promise<SocketPair> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const accepted = new Promise<Socket>((resolve) => {
    server.once('connection', (given) => resolve(withSharedReads(given)))
  })
  const client = await rawClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  return { client, taken: await accepted }
}
