import { systemClock } from '../../../src/platform/run/clock.ts'
import type { Handler } from '../../../src/http/server.ts'
import { WaitingRoom } from '../../../src/gateway/deliver/waiting-room.ts'
import { CountedShortcut } from './counted-shortcut.ts'
import { aGateway, type StageOptions } from '../gateway/gateway-stage.ts'
import { KeptClient } from './kept-client.ts'

export interface AskOptions {
  model?: string
  id?: string
  lines?: string[]
  path?: string
  body?: string
}

/** A request as most clients send it: with the same head each time, but for its length and its id. */
export function askBytes({ model = 'm', id = 'mine', lines = [], path = '/v1/x', body }: AskOptions = {}): string {
  const text = body ?? JSON.stringify({ model })
  const all = ['host: 127.0.0.1', 'content-type: application/json', ...lines, `x-request-id: ${id}`]
  return `POST ${path} HTTP/1.1\r\n${all.join('\r\n')}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
}

/** Says it as workers mostly do: with its length, and at once. */
export const answerWhole =
  (text: string): Handler =>
  (_, response) =>
    void response.writeHead(200, { 'content-length': text.length }).end(text)

/** A gateway whose shortcut is counted, and who asks it again and again on one connection. */
export async function aShortStage(workers: Handler[], options: StageOptions = {}) {
  const counted = new CountedShortcut()
  const waitingRoom = options.waitingRoom ?? new WaitingRoom(options.clock ?? systemClock)
  const gateway = await aGateway(workers, { shortcut: counted.around, ...options, waitingRoom })
  const client = new KeptClient(gateway.url)
  const ask = async (asked: AskOptions = {}, of = client) => {
    const [answer] = await of.ask(Buffer.from(askBytes(asked)))
    if (!answer) throw new Error('the connection ended without an answer')
    return answer
  }
  const isQuiet = () => Object.keys(gateway.table.ownCounts()).length === 0 && waitingRoom.running === 0
  return { ...gateway, counted, client, ask, isQuiet, waitingRoom }
}
