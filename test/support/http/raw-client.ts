import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { onTestFinished } from 'vitest'
import { until } from '../until.ts'

export interface RawClient {
  readonly socket: Socket
  /** All that has come so far. */
  text(): string
  send(text: string | Buffer): void
  /** Says no more, and goes on listening. */
  endSending(): void
  /** Waits until something has come. */
  reads(text: string | RegExp): Promise<string>
  /** Waits until the other side has closed; all that it said. */
  closes(): Promise<string>
  isClosed(): boolean
}

/** A client that says what no HTTP library would say, when no HTTP library would say it. */
export async function rawClient(url: string): Promise<RawClient> {
  const { hostname, port, protocol } = new URL(url)
  const plain = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  // Whose certificate it is does not matter to what is tried here.
  const socket = protocol === 'https:' ? connectTls({ socket: plain, rejectUnauthorized: false }) : plain
  onTestFinished(() => void socket.destroy())
  let text = ''
  let isClosed = false
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
  socket.on('error', () => (isClosed = true))
  socket.once('end', () => (isClosed = true)).once('close', () => (isClosed = true))
  await once(socket, protocol === 'https:' ? 'secureConnect' : 'connect')
  return {
    socket,
    text: () => text,
    send: (what) => void socket.write(what),
    endSending: () => void socket.end(),
    async reads(what) {
      await until(() => (typeof what === 'string' ? text.includes(what) : what.test(text)))
      return text
    },
    async closes() {
      await until(() => isClosed)
      return text
    },
    isClosed: () => isClosed,
  }
}
