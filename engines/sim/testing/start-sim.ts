import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** For tests: the real engine process on a port of the system's choice, stopped when the test ends. */
export interface StartedSim extends AsyncDisposable {
  url: string
  child: ChildProcess
  /** Everything it has said so far. */
  output: () => string
  /** Resolves when a line containing `text` was said; rejects when the process ends first. */
  said: (text: string) => Promise<void>
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

const main = fileURLToPath(new URL('../main.ts', import.meta.url))

/** No waiting anywhere: for tests in which time does not matter. */
export const instantly = ['--ttft-ms', '0', '--prefill-tokens-per-s', '0', '--tokens-per-s', '0']

/** The first token at once, the second a thousand seconds later: for tests that need a request to be under way. */
export const endlessly = ['--ttft-ms', '0', '--prefill-tokens-per-s', '0', '--tokens-per-s', '0.001']

export async function startSim(args: readonly string[], stdin: 'pipe' | 'ignore' = 'pipe'): Promise<StartedSim> {
  const sim = spawnSim(['--port', '0', ...args], stdin)
  await sim.said('listening on ')
  const [, url = ''] = /listening on (\S+)/.exec(sim.output()) ?? []
  return { ...sim, url }
}

/** The same without waiting until it listens, for tests of what goes wrong before. */
export function spawnSim(args: readonly string[], stdin: 'pipe' | 'ignore' = 'pipe'): StartedSim {
  const stdio: StdioOptions = [stdin, 'pipe', 'pipe']
  const child = spawn(process.execPath, [main, ...args], { stdio })
  let text = ''
  let ended = false
  const listeners = new Set<() => void>()
  const notice = (): void => listeners.forEach((listener) => listener())
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8')
      notice()
    })
  }
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.on('close', (code, signal) => {
      ended = true
      notice()
      resolve({ code, signal })
    })
  })
  const said = (wanted: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (text.includes(wanted)) resolve()
        else if (ended) reject(new Error(`the engine ended without saying "${wanted}": ${text}`))
        else return
        listeners.delete(look)
      }
      listeners.add(look)
      look()
    })
  return {
    url: '',
    child,
    output: () => text,
    said,
    exited,
    async [Symbol.asyncDispose]() {
      if (!ended) child.kill('SIGKILL')
      await exited
    },
  }
}
