import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { admitNode, type AdmittedNode } from './admit-node.ts'

/** A real frontend, in a process of its own. */
export interface Frontend {
  /** How it ended, once it has; it should not. */
  ended(): string | undefined
  /** Bytes of its log so far. */
  logBytes(): number
  ask<T>(method: string, path: string, body?: unknown): Promise<T>
  /** Registers a node, which is approved, with what it needs for the bus. */
  admit(name: string): Promise<AdmittedNode>
  stop(): Promise<void>
}

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const START_MS = 120_000

export async function startFrontend(): Promise<Frontend> {
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-hostile-'))
  const [data, ready] = [join(folder, 'data'), join(folder, 'ready.json')]
  const args = ['frontend', '--data', data, '--listen', '127.0.0.1:0', '--ready-file', ready, '--auto-approve']
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, FLOTILLA_BUS_LISTEN: '127.0.0.1:0', FLOTILLA_FIRST_MODEL: 'none' },
  })
  let ended: string | undefined
  let logBytes = 0
  let last = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes: Buffer) => {
      logBytes += bytes.length
      last = bytes.toString().slice(-2000)
    })
  }
  const exit = once(child, 'exit').then(([code, signal]) => (ended = `it ended with ${code ?? signal}: ${last}`))
  const giveUpMs = Date.now() + START_MS
  while (!existsSync(ready) || !readFileSync(ready, 'utf8').endsWith('\n')) {
    if (ended !== undefined) throw new Error(ended)
    if (Date.now() > giveUpMs) throw new Error('the frontend did not start')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const { url } = JSON.parse(readFileSync(ready, 'utf8')) as { url: string }
  const secret = (name: string): string => readFileSync(join(data, name), 'utf8').trim()
  const ask = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const init = { method, headers: { authorization: `Bearer ${secret('admin.key')}` } }
    const response = await fetch(url + path, body === undefined ? init : { ...init, body: JSON.stringify(body) })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as T
  }
  return {
    ended: () => ended,
    logBytes: () => logBytes,
    ask,
    admit: (name) => admitNode(url, secret('join.token'), name),
    async stop() {
      child.kill('SIGTERM')
      await exit
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
