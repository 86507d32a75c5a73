import fc from 'fast-check'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { REFUSAL_HEADER } from '../../api/data-port.ts'
import { systemClock } from '../../platform/run/clock.ts'
import type { Handler } from '../../http/server.ts'
import { aGateway, aRouteMessage } from '../../../test/support/gateway/gateway-stage.ts'
import { until } from '../../../test/support/until.ts'
import { WaitingRoom } from '../deliver/waiting-room.ts'

const deeds = [
  'answers',
  'refuses',
  'knows nothing',
  'hangs up',
  'streams',
  'breaks off',
  'is slow',
  'never answers',
] as const
type Deed = (typeof deeds)[number]

interface Plan {
  /** What each of three workers does, one request after the other, again and again. */
  workers: Deed[][]
  /** When each client leaves, if it does; and whether it sends its request to the end. */
  clients: { leaveAfterMs: number | undefined; isWhole: boolean }[]
  /** In between the table loses a replica, gets it back as another, or nothing happens. */
  changes: ('lose' | 'replace' | 'none')[]
  probeTtlMs: number
}

const plan: fc.Arbitrary<Plan> = fc.record({
  workers: fc.array(fc.array(fc.constantFrom(...deeds), { minLength: 1, maxLength: 6 }), {
    minLength: 3,
    maxLength: 3,
  }),
  clients: fc.array(fc.record({ leaveAfterMs: fc.option(fc.nat(30), { nil: undefined }), isWhole: fc.boolean() }), {
    minLength: 1,
    maxLength: 24,
  }),
  changes: fc.array(fc.constantFrom('lose' as const, 'replace' as const, 'none' as const), { maxLength: 4 }),
  probeTtlMs: fc.constantFrom(5, 30_000),
})

test('whatever fails and whenever clients leave, nothing stays in flight and every request has its record', async () => {
  await fc.assert(
    fc.asyncProperty(plan, async ({ workers, clients, changes, probeTtlMs }) => {
      const waitingRoom = new WaitingRoom(systemClock, { runningPerModel: 8 })
      const handlers = workers.map(misbehaving)
      const gateway = await aGateway(handlers, { waitingRoom, probeTtlMs })
      const { table, routes, url, decisions } = gateway
      const sockets = clients.map((client, i) => aClient(url, `id${i}`, client))
      for (const [i, change] of changes.entries()) {
        await new Promise((resolve) => setTimeout(resolve, 5))
        const version = { feed: 'f', version: i + 2, from_version: i + 1, heard: [] }
        const set = change === 'replace' ? [aRouteMessage(0, { address: routes[0]!.address, generation: 8 + i })] : []
        table.apply({ ...version, set, removed: change === 'lose' ? ['r0'] : [] }, Date.now())
      }
      await until(() => sockets.every(({ closed }) => closed))
      const stayed = clients.flatMap(({ leaveAfterMs, isWhole }, i) =>
        isWhole && leaveAfterMs === undefined ? [`id${i}`] : [],
      )
      await until(() => stayed.every((id) => decisions.find(id)))
      await until(() => Object.keys(table.ownCounts()).length === 0)
      expect(waitingRoom.countsOf('m')).toEqual({ running: 0, waiting: 0 })
      expect(table.routesOf('m').filter((route) => table.loadOf(route).here !== 0)).toEqual([])
      await until(() => handlers.every((handler) => handler.open === 0))
    }),
    { numRuns: 40 },
  )
}, 120_000)

/** A worker that does each deed in its turn; `open` is how many requests it believes to be running. */
function misbehaving(turns: Deed[]): Handler & { open: number } {
  let turn = 0
  const worker = Object.assign(
    ((_, response) => {
      worker.open += 1
      response.once('close', () => (worker.open -= 1))
      const deed = turns[turn++ % turns.length]!
      const events = { 'content-type': 'text/event-stream' }
      if (deed === 'answers') response.end('{}')
      else if (deed === 'refuses') response.writeHead(503, { [REFUSAL_HEADER]: '1' }).end()
      else if (deed === 'knows nothing') response.writeHead(404, { [REFUSAL_HEADER]: '1' }).end()
      else if (deed === 'hangs up') response.destroy()
      else if (deed === 'streams') {
        response.writeHead(200, events).write('data: 1\n\n')
        setTimeout(() => response.end('data: 2\n\n'), 5)
      } else if (deed === 'breaks off') response.writeHead(200, events).write('data: 1', () => response.destroy())
      else if (deed === 'is slow') setTimeout(() => response.end('{}'), 20)
      // Clients of this engine leave; it ends the connections of those that would stay.
      else setTimeout(() => response.destroy(), 100)
    }) as Handler,
    { open: 0 },
  )
  return worker
}

/**
 * Sends one request and leaves when it is time to; else it waits until the gateway has closed the connection. One who
 * will leave keeps its connection until then and asks again with whatever it hears, with the head that all of those have.
 */
function aClient(url: string, id: string, { leaveAfterMs, isWhole }: Plan['clients'][number]): Socket {
  const body = '{"model":"m"}'
  const last = leaveAfterMs === undefined ? ['connection: close'] : []
  const fields = ['host: 127.0.0.1', 'content-type: application/json', `x-request-id: ${id}`, ...last]
  const head = `POST /v1/x HTTP/1.1\r\n${fields.join('\r\n')}\r\ncontent-length: ${body.length}\r\n\r\n`
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {}).resume()
  socket.write(head + (isWhole ? body : body.slice(0, 5)))
  if (isWhole && leaveAfterMs !== undefined) socket.on('data', () => socket.write(head + body))
  const leaveMs = leaveAfterMs ?? (isWhole ? undefined : 50)
  if (leaveMs !== undefined) setTimeout(() => socket.destroy(), leaveMs)
  return socket
}
