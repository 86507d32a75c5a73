import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrokerOptions } from '../../../src/bus/broker/broker.ts'
import type { NatsAccounts } from './nats-accounts.ts'

/** The same options the embedded broker takes, so that one suite can ask both for the same server; and accounts. */
export type NatsServerOptions = Partial<Pick<BrokerOptions, 'port' | 'users' | 'tls' | 'limits'>> & {
  accounts?: NatsAccounts
}

export interface NatsServer {
  readonly host: string
  readonly port: number
  readonly url: string
  /** Ends it, frees the port and removes its files. */
  stop(): Promise<void>
}

const HOST = '127.0.0.1'
const START_TIMEOUT_MS = 10_000

/**
 * A real nats-server on a free loopback port. A plain one (no options) may be one that already runs, named by
 * FLOTILLA_TEST_NATS_URL; a special one is always started. There is no skipping: without the program this throws.
 */
export async function startNatsServer(options: NatsServerOptions = {}): Promise<NatsServer> {
  const running = process.env['FLOTILLA_TEST_NATS_URL']
  if (running !== undefined && running !== '' && Object.keys(options).length === 0) return useRunning(running)

  const folder = await mkdtemp(join(tmpdir(), 'flotilla-nats-'))
  const configFile = join(folder, 'nats.conf')
  let child: ChildProcess | undefined
  const stop = async (): Promise<void> => {
    if (child) await end(child)
    await rm(folder, { recursive: true, force: true })
  }
  try {
    if (options.tls) {
      await writeFile(join(folder, 'key.pem'), options.tls.key, { mode: 0o600 })
      await writeFile(join(folder, 'cert.pem'), options.tls.cert)
      if (options.tls.ca !== undefined) await writeFile(join(folder, 'ca.pem'), options.tls.ca)
    }
    await writeFile(configFile, toConfig(options, folder))
    child = spawn('nats-server', ['-c', configFile], { stdio: ['ignore', 'ignore', 'pipe'] })
    const port = await readPort(child)
    return { host: HOST, port, url: `${options.tls ? 'tls' : 'nats'}://${HOST}:${port}`, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function useRunning(url: string): Promise<NatsServer> {
  const { hostname, port } = new URL(url)
  const host = hostname
  const socket = connect(Number(port || '4222'), host)
  try {
    await once(socket, 'connect')
  } catch (cause) {
    throw new Error(`FLOTILLA_TEST_NATS_URL is set to ${url}, but nothing answers there`, { cause })
  } finally {
    socket.destroy()
  }
  return { host, port: Number(port || '4222'), url, stop: async () => {} }
}

function toConfig({ port = -1, users, tls, limits = {}, accounts }: NatsServerOptions, folder: string): string {
  const file = (name: string): string => JSON.stringify(join(folder, name))
  const lines = [`listen: "${HOST}:${port === 0 ? -1 : port}"`, ...(accounts?.config ?? [])]
  if (limits.maxPayloadBytes !== undefined) lines.push(`max_payload: ${limits.maxPayloadBytes}`)
  if (limits.maxControlLineBytes !== undefined) lines.push(`max_control_line: ${limits.maxControlLineBytes}`)
  if (limits.maxPendingBytes !== undefined) {
    // It waits ten seconds for a write to a reader that does not read before it looks at what is pending.
    lines.push(`max_pending: ${limits.maxPendingBytes}`, 'write_deadline: "500ms"')
  }
  if (limits.pingIntervalMs !== undefined) lines.push(`ping_interval: "${limits.pingIntervalMs}ms"`)
  if (limits.maxPingsOut !== undefined) lines.push(`ping_max: ${limits.maxPingsOut}`)
  if (limits.maxConnections !== undefined) lines.push(`max_connections: ${limits.maxConnections}`)
  if (limits.maxSubscriptions !== undefined) lines.push(`max_subscriptions: ${limits.maxSubscriptions}`)
  if (tls) {
    const verify = tls.ca === undefined ? '' : `ca_file: ${file('ca.pem')}, verify: true`
    lines.push(`tls { key_file: ${file('key.pem')}, cert_file: ${file('cert.pem')}, ${verify} }`)
  }
  if (users) {
    const timeoutS = limits.authTimeoutMs === undefined ? 2 : limits.authTimeoutMs / 1_000
    const entries = users.map(({ publicKey, permissions: { publish, subscribe, respond } }) => {
      const may = `publish: ${list(publish)}, subscribe: ${list(subscribe)}, allow_responses: ${respond}`
      return `{ nkey: ${publicKey}, permissions: { ${may} } }`
    })
    lines.push(`authorization { timeout: ${timeoutS}, users: [ ${entries.join(', ')} ] }`)
  }
  return `${lines.join('\n')}\n`
}

/** An empty list would mean "no limit" to nats-server; to us it means nothing at all. */
function list(patterns: readonly string[]): string {
  return patterns.length === 0 ? '{ deny: [">"] }' : JSON.stringify(patterns)
}

/** It says on stderr where it listens, then that it is ready. */
async function readPort(child: ChildProcess): Promise<number> {
  let log = ''
  return new Promise((resolve, reject) => {
    const fail = (why: string, cause?: unknown): void => reject(new Error(`nats-server ${why}\n${log}`, { cause }))
    const timer = setTimeout(() => fail(`was not ready after ${START_TIMEOUT_MS} ms`), START_TIMEOUT_MS)
    child.once('error', (error) => {
      clearTimeout(timer)
      fail('cannot be started: these tests need it on the PATH (https://nats.io/download)', error)
    })
    child.once('exit', (code) => {
      clearTimeout(timer)
      fail(`ended with ${code} instead of starting`)
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      // Its log is read to its end, or the pipe would fill up and stop it; only the start is of interest.
      if (log.length < 100_000) log += text
      const port = /client connections on \S+:(\d+)/.exec(log)?.[1]
      if (port === undefined || !log.includes('Server is ready')) return
      clearTimeout(timer)
      resolve(Number(port))
    })
  })
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
