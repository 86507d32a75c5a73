import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'

/** One that nobody on this machine has now. Somebody may take it first; whoever wanted it says so then. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
