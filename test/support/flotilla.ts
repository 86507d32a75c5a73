import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { atEnd } from './at-end.ts'
import { enginesOf } from './worker/engines-of.ts'
import { tempFolder } from './temp-folder.ts'
import { until } from './until.ts'

export { enginesOf }

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export interface Flotilla {
  url: string
  bus: string
  pid: number
  data: string
  readyFile: string
  /** Everything it printed so far. */
  stdout(): string
  stderr(): string
  /** Calls the admin API with the admin key of the data folder. */
  admin(method: string, path: string, body?: unknown): Promise<{ status: number; body: never }>
  /** As Ctrl-C does: to the whole process group. Resolves when it has ended. */
  signal(signal: NodeJS.Signals): Promise<Ended>
}

/** Runs the program and waits for its end. */
export async function runFlotilla(args: string[], env: Record<string, string> = {}): Promise<Ended> {
  const program = start(args, env)
  return program.ended
}

/** Runs the program on and on, as `logs -f` does. */
export function startCommand(args: string[]): { stdout(): string; signal(signal: NodeJS.Signals): Promise<Ended> } {
  const program = start(args, {})
  return {
    stdout: () => program.stdout(),
    signal(signal) {
      process.kill(-program.child.pid!, signal)
      return program.ended
    },
  }
}

export interface StartOptions {
  data?: string
  args?: string[]
  /** The same again after a restart; otherwise any free port. */
  listen?: string
  env?: Record<string, string>
  /** Something has to be installed first. */
  withinMs?: number
  /** Another release of the program: its main file. */
  program?: string
}

/** Starts `flotilla up` on free ports and waits until it serves. */
export function startUp(options: StartOptions = {}): Promise<Flotilla> {
  // What a user gets by default needs an engine of 85 MB: tests that want it say so with a flag, which wins.
  return startServing('up', { ...options, env: { FLOTILLA_FIRST_MODEL: 'sim', ...options.env } })
}

/** Starts `flotilla frontend` on free ports and waits until it serves. */
export function startFrontend(options: StartOptions = {}): Promise<Flotilla> {
  return startServing('frontend', options)
}

/** Starts `flotilla gateway` on a free port and waits until it serves. */
export function startGatewayProcess(options: StartOptions): Promise<Flotilla> {
  return startServing('gateway', options)
}

async function startServing(command: 'up' | 'frontend' | 'gateway', options: StartOptions): Promise<Flotilla> {
  const folder = tempFolder()
  const data = options.data ?? join(folder, 'data')
  const readyFile = join(folder, 'ready.json')
  const { listen = '127.0.0.1:0', args = [] } = options
  const all = [command, '--data', data, '--listen', listen, '--ready-file', readyFile, ...args]
  const program = start(all, { FLOTILLA_BUS_LISTEN: '127.0.0.1:0', ...options.env }, options.program)
  let ended: Ended | undefined
  void program.ended.then((end) => (ended = end))
  await until(() => {
    if (ended) throw new Error(`flotilla ended with ${ended.code}: ${ended.stderr}`)
    return existsSync(readyFile) && program.stdout().includes('Ctrl-C')
  }, options.withinMs).catch((error: Error) => {
    throw new Error(`${error.message}\n${program.stderr()}`, { cause: error })
  })
  const { url, bus, pid } = JSON.parse(readFileSync(readyFile, 'utf8')) as { url: string; bus: string; pid: number }
  return {
    url,
    bus,
    pid,
    data,
    readyFile,
    stdout: () => program.stdout(),
    stderr: () => program.stderr(),
    async admin(method, path, body) {
      const key = readFileSync(join(data, 'admin.key'), 'utf8').trim()
      const init = { method, headers: { authorization: `Bearer ${key}` } }
      const response = await fetch(`${url}${path}`, body === undefined ? init : { ...init, body: JSON.stringify(body) })
      return { status: response.status, body: (await response.json()) as never }
    },
    signal(signal) {
      process.kill(-program.child.pid!, signal)
      return program.ended
    },
  }
}

export interface WorkerProcess {
  name: string
  pid: number
  data: string
  ended: Promise<Ended>
  stderr(): string
  signal(signal: NodeJS.Signals): Promise<Ended>
}

export interface WorkerProcessOptions {
  join: string
  /** The one or the other; both are join tokens. */
  tokenFile?: string
  token?: string
  name: string
  data?: string
  args?: string[]
  env?: Record<string, string>
  program?: string
}

/** Starts `flotilla worker` and waits for nothing: whether it is taken is what tests look at. */
export function startWorkerProcess(options: WorkerProcessOptions): WorkerProcess {
  const { join: url, tokenFile, token, name, args = [] } = options
  const data = options.data ?? join(tempFolder(), name)
  const shown = tokenFile === undefined ? [] : ['--token-file', tokenFile]
  const all = ['worker', '--join', url, ...shown, '--node-name', name, '--data', data, '--worker-listen', '127.0.0.1:0']
  const env = { ...options.env, ...(token === undefined ? {} : { FLOTILLA_TOKEN: token }) }
  const program = start([...all, ...args], env, options.program)
  return {
    name,
    pid: program.child.pid!,
    data,
    ended: program.ended,
    stderr: () => program.stderr(),
    signal(signal) {
      process.kill(-program.child.pid!, signal)
      return program.ended
    },
  }
}

interface Program {
  child: ChildProcess
  ended: Promise<Ended>
  stdout(): string
  stderr(): string
}

function start(args: string[], env: Record<string, string>, program = main): Program {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, ...args], {
    // A process group of its own, as a shell gives it, so that Ctrl-C can be sent as a terminal does.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    // As ./flotilla and npm start do, so that not every process compiles all of it again.
    env: {
      // Where tests serve files from.
      FLOTILLA_ALLOW_SOURCES: '127.0.0.1',
      PATH: process.env['PATH'],
      HOME: tempFolder(),
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      ...env,
    },
  })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => (output[name] += text))
  }
  const ended = once(child, 'close').then(([code, signal]): Ended => ({ code, signal, ...output }))
  atEnd(async () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGKILL')
    await ended
    // A worker that was killed leaves its engines to the next one; after the test there is none.
    const data = args[args.indexOf('--data') + 1]
    for (const pid of data === undefined ? [] : enginesOf(data)) process.kill(-pid, 'SIGKILL')
  })
  return { child, ended, stdout: () => output.stdout, stderr: () => output.stderr }
}
