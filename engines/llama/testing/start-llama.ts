import { spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { llamaLibrary, skipper } from '../../../test/support/worker/llama-engine.ts'
import { until } from '../../../test/support/until.ts'

const main = fileURLToPath(new URL('../main.ts', import.meta.url))

export interface StartedLlama {
  url: string
  child: ChildProcess
  /** Everything it has said so far. */
  output: () => string
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

/** For tests: the real engine with the small model of the repository, ready, and ended with the test. */
export async function startLlama(args: readonly string[] = []): Promise<StartedLlama> {
  const engine = await spawnLlama(['--model', skipper, '--alias', 'skipper', '--context', '512', ...args])
  await until(() => engine.output().includes('ready: ') || engine.child.exitCode !== null)
  const [, url] = /listening on (\S+)/.exec(engine.output()) ?? []
  if (url === undefined || engine.child.exitCode !== null) throw new Error(`the engine ended: ${engine.output()}`)
  return { ...engine, url }
}

/** The same without waiting, for tests of what goes wrong before. */
export async function spawnLlama(args: readonly string[]): Promise<StartedLlama> {
  const library = await llamaLibrary()
  const child = spawn(process.execPath, [main, '--port', '0', '--library', library, '--threads', '1', ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal }))
  })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  return { url: '', child, output: () => text, exited }
}
