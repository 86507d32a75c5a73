import { connect, type Socket } from 'node:net'
import type { Fault, Struck } from '../fault.ts'
import type { Cluster } from '../harness/cluster.ts'
import type { Member } from '../harness/member.ts'

const CLIENTS = 200
const ANNOUNCED_BYTES = 60_000_000
const PIECE = Buffer.alloc(64 * 1024, 'x')

/** Clients that send as much as is taken, with a key or without, and do not end. */
export const bodyFaults: Fault[] = [
  {
    name: 'bodies fill a gateway',
    group: 'gateway',
    holdMs: 6000,
    longMs: 15_000,
    strike: async (cluster) => flood(cluster.gateways[0]!, '/v1/chat/completions', cluster),
  },
  {
    name: 'long sign-ins fill a frontend',
    group: 'frontend',
    holdMs: 6000,
    longMs: 15_000,
    strike: async (cluster) => flood(await cluster.leader(), '/api/session'),
  },
]

function flood({ host, port }: Member, path: string, shows?: Cluster): Struck {
  const key = shows ? `Authorization: Bearer ${shows.adminKey}\r\n` : ''
  const head = `POST ${path} HTTP/1.1\r\nHost: ${host}\r\n${key}Content-Type: application/json\r\nContent-Length: ${ANNOUNCED_BYTES}\r\n\r\n`
  const open = new Set<Socket>()
  let isOver = false
  const begin = (): void => {
    if (isOver) return
    const socket = connect({ host, port })
    open.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => {
      open.delete(socket)
      // A client that was turned away comes back, sooner than it was told.
      setTimeout(begin, 1000).unref()
    })
    socket.once('data', () => socket.end())
    socket.write(head)
    const send = (): void => {
      // As much as one turn of the loop has time for: the other clients of the test are in this process.
      if (!socket.writable || socket.writableEnded) return
      if (socket.write(PIECE)) setTimeout(send, 20).unref()
      else socket.once('drain', send)
    }
    send()
  }
  for (let i = 0; i < CLIENTS; i += 1) begin()
  const heal = async (): Promise<void> => {
    isOver = true
    for (const socket of open) socket.destroy()
  }
  return { keepsReplicas: true, heal }
}
