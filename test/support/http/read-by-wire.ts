import { Duplex } from 'node:stream'
import type { Socket } from 'node:net'
import { FamiliarHeads } from '../../../src/http/fast/path/head-cache.ts'
import type { SharedReadSocket } from '../../../src/http/fast/shared-reads.ts'
import { WireConnection } from '../../../src/http/fast/fast-connection.ts'
import type { WireRequest } from '../../../src/http/fast/fast-request.ts'

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

/**
 * Lets a connection of the wire read these pieces, answering each request at once, and tells what it made of them. All come
 * in one buffer, in which there is something else when the connection has had its turn.
 */
export async function readByWire(pieces: readonly Buffer[], prefix = '/', headerBytes = 16_384): Promise<ReadByWire> {
  const read: ReadByWire = { requests: [], end: 'waits', rest: '' }
  const begun: BegunRequest[] = []
  const socket = Object.assign(new Duplex({ read() {}, write: (_piece, _coding, done) => done() }), {
    destroySoon: () => void (read.end = 'closed'),
    onBytes: undefined as SharedReadSocket['onBytes'],
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
  const shared = Buffer.alloc(Math.max(0, ...pieces.map(({ length }) => length)))
  for (const piece of pieces) {
    if (read.end === 'handed over') read.rest += piece.toString('latin1')
    else socket.onBytes?.(shared.subarray(0, piece.copy(shared)))
    shared.fill(0)
    await settled(() => begun.reduce((steps, { isWhole }) => steps + (isWhole ? 2 : 1), 0))
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

async function bodyOf(request: WireRequest): Promise<string> {
  const pieces: Buffer[] = request.whole ? [request.whole] : []
  if (!request.whole) {
    request.on('data', (piece) => void pieces.push(piece))
    await new Promise<void>((resolve) => void request.once('end', resolve))
  }
  // Not before there is something else in the buffer that all was read into.
  await Promise.resolve()
  return Buffer.concat(pieces).toString('latin1')
}

/** Whatever waits for microtasks has had its turn, a dozen of them in a row after the last step that was done. */
async function settled(stepsDone: () => number): Promise<void> {
  let steps = stepsDone()
  for (let still = 0; still < 12; still += 1) {
    await Promise.resolve()
    if (stepsDone() === steps) continue
    steps = stepsDone()
    still = 0
  }
}
