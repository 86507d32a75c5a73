import { Duplex } from 'node:stream'
import type { Socket } from 'node:net'
import { FamiliarHeads } from '../platform/wire/familiar-heads.ts'
import { WireConnection } from '../platform/wire/wire-connection.ts'
import type { WireRequest } from '../platform/wire/wire-request.ts'

/** A request as it was understood. */
export interface ReadRequest {
  method: string
  url: string
  rawHeaders: string[]
  body: string
}

export interface ReadByWire {
  /** Those that were read whole. */
  requests: ReadRequest[]
  /** How it stands after them. */
  end: 'waits' | 'handed over' | 'refused' | 'closed'
  /** What was handed over. */
  rest: string
}

/** Lets a connection of the wire read these pieces, answering each request at once, and tells what it made of them. */
export async function readByWire(pieces: readonly Buffer[], prefix = '/', headerBytes = 16_384): Promise<ReadByWire> {
  const read: ReadByWire = { requests: [], end: 'waits', rest: '' }
  const begun: BegunRequest[] = []
  const socket = Object.assign(new Duplex({ read() {}, write: (_piece, _coding, done) => done() }), {
    destroySoon: () => void (read.end = 'closed'),
  })
  const connection = new WireConnection(socket as unknown as Socket, {
    prefix,
    headerBytes,
    keepAliveS: 65,
    soonMs: 0,
    shortcut: undefined,
    familiarHeads: new FamiliarHeads(),
    learn: () => undefined,
    isClosing: false,
    hearOut: () => undefined,
    serve(request, response) {
      const { method, url, rawHeaders } = request
      const seen = { method, url, rawHeaders, body: '', isWhole: false }
      begun.push(seen)
      void bodyOf(request).then((body) => {
        Object.assign(seen, { body, isWhole: true })
        response.end('ok')
      })
    },
    handOver(_, bytes) {
      read.end = 'handed over'
      read.rest = bytes.toString('latin1')
    },
    refuse: () => void (read.end = 'refused'),
    onHalfClosed() {},
    onClosed() {},
  })
  for (const piece of pieces) {
    if (read.end === 'handed over') read.rest += piece.toString('latin1')
    else socket.emit('data', piece)
    await settled()
  }
  connection.stop()
  read.requests = wholeOf(begun)
  return read
}

/** A request of which perhaps not all has come. */
export interface BegunRequest extends ReadRequest {
  isWhole: boolean
}

export function wholeOf(begun: readonly BegunRequest[]): ReadRequest[] {
  const whole = begun.filter(({ isWhole }) => isWhole)
  return whole.map(({ method, url, rawHeaders, body }) => ({ method, url, rawHeaders, body }))
}

function bodyOf(request: WireRequest): Promise<string> {
  if (request.whole) return Promise.resolve(request.whole.toString('latin1'))
  return new Promise((resolve) => {
    let body = ''
    request.on('data', (piece) => void (body += piece.toString('latin1')))
    request.once('end', () => resolve(body))
  })
}

/** Whatever waits for microtasks has had its turn, a handful of them in a row. */
async function settled(): Promise<void> {
  for (let i = 0; i < 6; i += 1) await Promise.resolve()
}
