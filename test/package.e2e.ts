import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { tempFolder } from './support/temp-folder.ts'
import { until } from './support/until.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const run = promisify(execFile)

test(
  'what npm pack makes is installed elsewhere and serves, with the dashboard inside',
  { timeout: 600_000 },
  async () => {
    const folder = tempFolder()
    const npm = (args: string[], cwd: string) => run('npm', [...args, '--loglevel', 'error'], { cwd })
    await npm(['pack', '--pack-destination', folder], root)
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    const flags = ['--prefix', folder, '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
    await npm(['install', ...flags, join(folder, `flotilla-${version}.tgz`)], folder)

    const readyFile = join(folder, 'ready.json')
    const args = ['flotilla', 'up', '--listen', '127.0.0.1:0', '--bus-listen', '127.0.0.1:0', '--ready-file', readyFile]
    const env = { ...process.env, HOME: folder, FLOTILLA_FIRST_MODEL: 'sim', FLOTILLA_DATA: join(folder, 'data') }
    // A process group of its own, as a shell gives it, so that Ctrl-C reaches all of it.
    const child = spawn('npx', args, { cwd: folder, env, detached: true, stdio: ['ignore', 'ignore', 'pipe'] })
    const ended = once(child, 'close')
    let complaint = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text))
    onTestFinished(async () => {
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGKILL')
      await ended
    })
    await until(() => {
      if (child.exitCode !== null) throw new Error(complaint)
      return existsSync(readyFile)
    }, 120_000)
    const { url } = JSON.parse(readFileSync(readyFile, 'utf8')) as { url: string }

    const page = await (await fetch(url, { headers: { accept: 'text/html' } })).text()
    const [, script] = /src="(\/assets\/[^"]+\.js)"/.exec(page)!
    expect((await fetch(url + script!)).headers.get('content-type')).toMatch(/^text\/javascript/)
    const body = JSON.stringify({ model: 'sim', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] })
    const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body })
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('"completion_tokens":5')])
    expect(complaint).not.toContain('Warning')
    process.kill(-child.pid!, 'SIGINT')
    await ended
  },
)
