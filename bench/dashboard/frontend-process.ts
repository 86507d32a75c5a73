import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface Frontend {
  url: string
  adminKey: string
  joinToken: string
  ask: <T>(method: string, path: string, body?: unknown) => Promise<T>
  stop: () => Promise<void>
}

const root = fileURLToPath(new URL('../..', import.meta.url))
/** A start builds the dashboard when it is out of date. */
const START_MS = 120_000

/** The real program, with a data folder that goes with it. */
export async function startFrontend(): Promise<Frontend> {
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-bench-'))
  const ready = join(folder, 'ready.json')
  const args = ['frontend', '--data', join(folder, 'data'), '--listen', '127.0.0.1:0', '--ready-file', ready]
  const child = spawn(process.execPath, ['scripts/bootstrap.js', 'src/main.ts', ...args], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, FLOTILLA_LOG_LEVEL: 'error', FLOTILLA_FIRST_MODEL: 'none' },
  })
  const giveUpMs = Date.now() + START_MS
  while (!existsSync(ready) || !readFileSync(ready, 'utf8').endsWith('\n')) {
    if (child.exitCode !== null) throw new Error(`the frontend ended with ${child.exitCode}`)
    if (Date.now() > giveUpMs) throw new Error('the frontend did not start')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const { url } = JSON.parse(readFileSync(ready, 'utf8')) as { url: string }
  const secret = (name: string): string => readFileSync(join(folder, 'data', name), 'utf8').trim()
  const adminKey = secret('admin.key')
  return {
    url,
    adminKey,
    joinToken: secret('join.token'),
    async ask<T>(method: string, path: string, body?: unknown) {
      const response = await fetch(url + path, {
        method,
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
      return (await response.json()) as T
    },
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
