import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { CableTo } from '../../../src/http/mux/mux-client.ts'
import { until } from '../until.ts'

/** Where each connection becomes a strand of one cable to this server: who asks there is served on strands. */
export async function bridgedByCable(url: string): Promise<string> {
  const { hostname: host, port } = new URL(url)
  const cable = new CableTo({ host, port: Number(port) })
  onTestFinished(() => cable.destroy())
  cable.lay(`host: ${host}\r\n`, undefined)
  await until(() => cable.isWell)
  const bridge = createServer({ allowHalfOpen: true }, (socket) => {
    const strand = cable.open(undefined)
    if (!strand) return void socket.destroy()
    socket.pipe(strand).pipe(socket)
    socket.on('error', () => {}).once('close', () => strand.destroy())
    strand.on('error', () => {}).once('close', () => socket.destroySoon())
  })
  onTestFinished(() => void bridge.close())
  bridge.listen(0, '127.0.0.1')
  await once(bridge, 'listening')
  return `http://127.0.0.1:${(bridge.address() as AddressInfo).port}`
}
