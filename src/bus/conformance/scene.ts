import { connect, type ConnectionOptions, type NatsConnection } from '@nats-io/transport-node'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import type { BrokerOptions } from '../broker/broker.ts'
import { RawClient, type RawOptions } from './raw-client.ts'

export type ServerOptions = Partial<Pick<BrokerOptions, 'port' | 'users' | 'tls' | 'limits'>>

export interface TestServer {
  readonly host: string
  readonly port: number
  readonly url: string
  stop(): Promise<void>
}

/** Without options the server may be shared with others; with options it is the caller's own. */
export type StartServer = (options?: ServerOptions) => Promise<TestServer>

/** One plain server for all cases of a group. */
export function sharedServer(start: StartServer): () => TestServer {
  let server: TestServer | undefined
  beforeAll(async () => {
    server = await start()
  })
  afterAll(async () => {
    await server?.stop()
  })
  return () => server!
}

/** A server of this test's own, stopped when the test ends. */
export async function ownServer(start: StartServer, options: ServerOptions): Promise<TestServer> {
  const server = await start(options)
  onTestFinished(() => server.stop())
  return server
}

export async function openRaw(server: TestServer, options: RawOptions = {}): Promise<RawClient> {
  const raw = await RawClient.open(server, options)
  onTestFinished(() => raw.close())
  return raw
}

export async function openNats(server: TestServer, options: ConnectionOptions = {}): Promise<NatsConnection> {
  const connection = await connect({ servers: server.url, reconnect: false, ...options })
  onTestFinished(() => connection.close())
  return connection
}

let subjects = 0

/** A unique subject, so that tests can share a server, even with another run of this suite. */
export function aSubject(): string {
  subjects += 1
  return `conformance.${process.pid}.${Date.now().toString(36)}.${subjects}`
}

/** Fails with what it was waiting for, instead of hanging until the test's own limit. */
export async function within<T>(what: string, promise: Promise<T>, limitMs = 10_000): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${limitMs} ms for ${what}`)), limitMs)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
