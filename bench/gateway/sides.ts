import type { ChildProcess } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../test/support/http/free-port.ts'
import { isInstalled, launch, PROXY_CORE, startFile, type Child } from './processes/child.ts'
import { haproxyConfig, nginxConfig } from './configs.ts'
import { installed } from './installed.ts'
import { JSON_TAIL, PATH, requestBody, type FlotillaOptions, type Target } from './messages.ts'
import { API_KEY } from './table.ts'

/** One of those that are compared: where it listens, and whose memory to look at. */
export interface Side {
  target: Target
  pid: number
  /** Whose time counts besides. */
  otherPids?: readonly number[]
  /** Lets a Node process collect its garbage before its memory is looked at. */
  settle?: () => Promise<unknown>
}

export interface Ground {
  /** Of the upstreams. */
  ports: readonly number[]
  /** For configurations; gone after the run. */
  folder: string
  certificate: { cert: string; key: string }
}

export function directTo({ ports }: Ground, upstream: Child): Side {
  return { target: { port: ports[0]!, headers: {} }, pid: upstream.pid }
}

export async function startNodeProxy(file: string, args: string[], cores = PROXY_CORE): Promise<Side> {
  const child = await startFile(file, args, cores)
  const { port } = child.ready as { port: number }
  return { target: { port, headers: {} }, pid: child.pid, settle: () => child.ask({}) }
}

export async function startFlotilla(options: FlotillaOptions, cores?: string): Promise<Side> {
  const side = await startNodeProxy('flotilla-process.ts', [JSON.stringify(options)], cores)
  const headers: Record<string, string> = options.isCounted ? { authorization: `Bearer ${API_KEY}` } : {}
  return { ...side, target: { port: side.target.port, headers, isTls: options.certificate !== undefined } }
}

/**
 * As it is deployed: the gateway sends to a worker's data port, which sends to the engines. A worker is where its engines
 * are, so it shares the core of those; or both share the proxies' core.
 */
export async function startTwoHops(ports: readonly number[], isOneCore: boolean): Promise<Side> {
  const worker = await startFile('data-port-process.ts', ports.map(String), isOneCore ? PROXY_CORE : undefined)
  const { port } = worker.ready as { port: number }
  return { ...(await startFlotilla({ ports: ports.map(() => port) })), otherPids: [worker.pid] }
}

/** A text instead of a side says why there is none. */
export async function startNginx({ ports, folder, certificate }: Ground): Promise<Side | string> {
  if (!isInstalled('nginx')) return 'not installed'
  const file = join(folder, 'nginx.conf')
  const [plain, tls] = [await freePort(), await freePort()]
  writeFileSync(file, nginxConfig({ plain, tls, certificate }, ports, folder))
  const child = launch('nginx', ['-p', folder, '-c', file, '-e', join(folder, 'nginx.log')], { cores: PROXY_CORE })
  nginxTls = { port: tls, headers: {}, isTls: true }
  return listening(plain, child)
}

/** The same process at its other port. */
export function encryptedNginx(nginx: Side | undefined): Side | string {
  return nginx && nginxTls ? { ...nginx, target: nginxTls } : 'not installed'
}

let nginxTls: Target | undefined

export async function startHaproxy({ ports, folder }: Ground): Promise<Side | string> {
  if (!isInstalled('haproxy')) return 'not installed'
  const file = join(folder, 'haproxy.cfg')
  const port = await freePort()
  writeFileSync(file, haproxyConfig(port, ports))
  return listening(port, launch('haproxy', ['-db', '-q', '-f', file], { cores: PROXY_CORE }))
}

export async function startUndici({ ports, folder }: Ground, isWanted: boolean): Promise<Side | string> {
  const module = await installed('undici', 'index.js', folder, isWanted)
  return 'why' in module ? module.why : startNodeProxy('undici-process.ts', [module.path, ...ports.map(String)])
}

export async function startPortkey({ ports, folder }: Ground, isWanted: boolean): Promise<Side | string> {
  const program = await installed('@portkey-ai/gateway', 'build/start-server.js', folder, isWanted)
  if ('why' in program) return program.why
  const port = await freePort()
  const env = { NODE_ENV: 'production', TRUSTED_CUSTOM_HOSTS: '127.0.0.1' }
  const child = launch(process.execPath, [program.path, `--port=${port}`, '--headless'], {
    cores: PROXY_CORE,
    env,
    isQuiet: true,
  })
  const targets = ports.map((upstream) => ({
    provider: 'openai',
    api_key: 'bench',
    custom_host: `http://127.0.0.1:${upstream}/v1`,
  }))
  const side = await listening(port, child)
  const config = JSON.stringify({ strategy: { mode: 'loadbalance' }, targets })
  return { ...side, target: { port, headers: { 'x-portkey-config': config } } }
}

/** One request, to see whether this side can do it at all. */
export async function canServe({ target }: Side, kind: 'json' | 'stream'): Promise<boolean> {
  // Nobody vouches for the certificate of the bench; whether it works is seen when it is measured.
  if (target.isTls) return true
  const headers = { 'content-type': 'application/json', ...target.headers }
  const init = { method: 'POST', headers, body: requestBody(kind) }
  const response = await fetch(`http://127.0.0.1:${target.port}${PATH}`, init)
  const text = await response.text()
  return response.ok && text.includes(kind === 'json' ? JSON_TAIL : '[DONE]')
}

const START_TRIES = 100

async function listening(port: number, child: ChildProcess): Promise<Side> {
  for (let tries = 0; tries < START_TRIES && child.exitCode === null; tries += 1) {
    try {
      await fetch(`http://127.0.0.1:${port}/`, { method: 'HEAD' })
      return { target: { port, headers: {} }, pid: child.pid! }
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
  throw new Error(`nothing answers on port ${port}; see above what the program said`)
}
