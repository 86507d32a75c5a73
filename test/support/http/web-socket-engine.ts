import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { UpgradeHandler } from '../../../src/http/server.ts'
import { serve } from './http.ts'

const [TEXT, CLOSE] = [0x1, 0x8]

/** An engine that speaks WebSocket: it says everything back, and ends when told to. Only short messages. */
export async function webSocketEngine() {
  const requests: IncomingMessage[] = []
  const sockets = new Set<Socket>()
  const onUpgrade: UpgradeHandler = (request, socket, head) => {
    requests.push(request)
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.once('end', () => socket.end())
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-Engine: yes\r\nSet-Cookie: flotilla_session=fls_mine\r\nAccess-Control-Allow-Origin: *\r\nSec-WebSocket-Accept: ${acceptOf(request)}\r\n\r\n`,
    )
    let left = head
    const onBytes = (bytes: Buffer): void => {
      left = Buffer.concat([left, bytes])
      for (let frame = takeFrame(left); frame; frame = takeFrame(left)) {
        left = left.subarray(frame.bytes)
        socket.write(Buffer.concat([Buffer.from([0x80 | frame.kind, frame.text.length]), frame.text]))
        if (frame.kind === CLOSE) socket.end()
      }
    }
    onBytes(Buffer.alloc(0))
    socket.on('data', onBytes)
  }
  const url = await serve((_, response) => void response.writeHead(426, { 'x-engine': 'yes' }).end('only WebSocket'), {
    onUpgrade,
  })
  return { url, port: Number(new URL(url).port), requests, sockets }
}

/** What a client must send to begin. */
export function handshake(path: string, headers: Record<string, string> = {}): string {
  const fields = {
    host: '127.0.0.1',
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    ...headers,
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}

/** A short message as a client sends it; with a mask of zeros it can be read. */
export function message(text: string, kind: number = TEXT): Buffer {
  return Buffer.concat([Buffer.from([0x80 | kind, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)])
}

function acceptOf({ headers }: IncomingMessage): string {
  const key = `${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
  return createHash('sha1').update(key).digest('base64')
}

function takeFrame(bytes: Buffer): { kind: number; text: Buffer; bytes: number } | undefined {
  const length = (bytes[1] ?? 0) & 0x7f
  if (bytes.length < 6 + length) return undefined
  const mask = bytes.subarray(2, 6)
  const text = Buffer.from(bytes.subarray(6, 6 + length).map((byte, i) => byte ^ mask[i % 4]!))
  return { kind: bytes[0]! & 0xf, text, bytes: 6 + length }
}
