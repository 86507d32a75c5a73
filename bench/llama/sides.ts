import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../test/support/http/free-port.ts'

export interface Settings {
  model: string
  threads: number
  parallel: number
  /** Of one request. */
  context: number
}

export interface Program {
  name: string
  argv: (port: number) => string[]
}

export interface Side {
  name: string
  url: string
  rssMb: () => number
  /** Processor time that it has taken so far. */
  cpuMs: () => number
  end: () => Promise<void>
}

const READY_WITHIN_MS = 30_000

export function ours(library: string, { model, threads, parallel, context }: Settings): Program {
  const main = fileURLToPath(new URL('../../engines/llama/main.ts', import.meta.url))
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', main]
  const flags = { library, model, alias: 'bench', threads, parallel, context, gpu: 'off' }
  return { name: 'ours', argv: (port) => [...node, ...asFlags({ port, ...flags })] }
}

export function theirs(program: string, { model, threads, parallel, context }: Settings): Program {
  const total = parallel * context
  const size = { threads, 'threads-batch': threads, parallel, 'ctx-size': total, 'gpu-layers': 0 }
  const flags = { host: '127.0.0.1', model, alias: 'bench', ...size }
  return { name: 'llama-server', argv: (port) => [program, ...asFlags({ port, ...flags })] }
}

function asFlags(values: Record<string, string | number>): string[] {
  return Object.entries(values).flatMap(([name, value]) => [`--${name}`, String(value)])
}

/** In PATH, else what has been built on this machine: the newest. */
export function findLlamaServer(env: NodeJS.ProcessEnv): string | undefined {
  const inPath = (env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'llama-server'))
  const cache = join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'flotilla', 'llama-server')
  const built = globSync('*/llama-server', { cwd: cache }).toSorted().toReversed()
  return [...inPath, ...built.map((file) => join(cache, file))].find((file) => existsSync(file))
}

/** Starts it and waits until it serves. */
export async function startSide({ name, argv }: Program): Promise<Side> {
  const port = await freePort()
  const [program, ...args] = argv(port) as [string, ...string[]]
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints = (complaints + text).slice(-2000)))
  const url = `http://127.0.0.1:${port}`
  const giveUpMs = performance.now() + READY_WITHIN_MS
  while (!(await isHealthy(url))) {
    if (child.exitCode !== null || performance.now() > giveUpMs) {
      child.kill('SIGKILL')
      throw new Error(`${name} does not serve: ${complaints}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return {
    name,
    url,
    rssMb: () => Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024,
    cpuMs: () => cpuMs(child.pid!),
    async end() {
      if (child.exitCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** Linux counts it in hundredths of a second: user and system time are the 14th and 15th field, the 2nd is in brackets. */
function cpuMs(pid: number): number {
  const afterName = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return 10 * (Number(afterName[11]) + Number(afterName[12]))
}

async function isHealthy(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/health`)).status === 200
  } catch {
    return false
  }
}
