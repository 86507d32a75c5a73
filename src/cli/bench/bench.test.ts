import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../platform/run/clock.ts'
import { readBody, sendJson } from '../../http/server.ts'
import { runCommand } from '../../../test/support/cli/cli-command.ts'
import { aReplicaView, refused } from '../../../test/support/cli/cli.ts'
import { aDecision } from '../../../test/support/gateway/decision.ts'
import { serve } from '../../../test/support/http/http.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { until } from '../../../test/support/until.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface Gateway {
  /** Never answers. */
  isSilent?: boolean
  /** Told in each answer. */
  headers?: Record<string, string>
  /** The key is for the admin API, too. */
  isAdmin?: boolean
}

/** A gateway that knows one model, and the admin API beside it. */
async function aGateway({ isSilent = false, headers = {}, isAdmin = true }: Gateway = {}) {
  let asked = 0
  const url = await serve(async (request, response) => {
    const { url: path = '' } = request
    if (path === '/v1/models') return sendJson(response, 200, { data: [{ id: 'skipper' }] })
    if (path.startsWith('/api/') && !isAdmin)
      return sendJson(response, 403, refused(403, 'forbidden', 'Not this key.').body)
    if (path.startsWith('/api/requests/'))
      return sendJson(response, 200, aDecision({ request_id: path.split('/')[3]! }))
    if (path === '/api/replicas') return sendJson(response, 200, [aReplicaView({ id: 'r1', model_name: 'skipper' })])
    await readBody(request, 1e6)
    asked += 1
    if (isSilent) return
    const choice = (content: string, finish: string | null) => ({
      choices: [{ delta: { content }, finish_reason: finish }],
    })
    const usage = { usage: { prompt_tokens: 9, completion_tokens: 2 } }
    const events = [choice('one ', null), choice('two', 'length'), usage].map(
      (body) => `data: ${JSON.stringify(body)}\n\n`,
    )
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': `q-${asked}`, ...headers })
    response.end(`${events.join('')}data: [DONE]\n\n`)
  })
  return { url, asked: () => asked }
}

function bench(url: string, args: string[], terminal: Partial<Terminal> = {}) {
  return runCommand(['bench', '--url', url, '--key', 's3cret', ...args], { clock: systemClock, terminal })
}

const QUICK = ['skipper', '--rate', '100', '--requests', '5']

test('drives a model and tells how it did, with who answered', async () => {
  const { url, asked } = await aGateway()
  const { code, stdout, stderr } = await bench(url, QUICK).ended
  expect([code, stderr, asked()]).toEqual([0, '', 5])
  expect(stdout).toMatch(/^skipper +5 +5 +0 +0 /m)
  expect(stdout).toMatch(/^first token +skipper +\d/m)
  expect(stdout).toMatch(/on \S+ +█+ +5 +100 %$/m)
  expect(stdout).not.toContain('sample')
})

test('takes the word of gateways that tell who answered, also with a key that may not ask', async () => {
  const headers = { 'x-flotilla-replica': 'some-id', 'x-flotilla-node': 'gpu-7' }
  const { url } = await aGateway({ headers, isAdmin: false })
  expect((await bench(url, QUICK).ended).stdout).toMatch(/^some-id on gpu-7 +█+ +5 +100 %$/m)
})

test('says that it is not known who answered, and how it would be', async () => {
  const { url } = await aGateway({ isAdmin: false })
  const { stdout } = await bench(url, QUICK).ended
  expect(stdout.replaceAll('\n', ' ')).toContain(
    'skipper: not known: Not this key; gateways with --expose-node-header tell it in each answer.',
  )
})

test('as JSON it is all there, and a page is written beside it', async () => {
  const { url } = await aGateway()
  const path = join(tempFolder(), 'report.html')
  const { code, stdout, stderr } = await bench(url, [...QUICK, '--json', '--html', path]).ended
  expect([code, stderr]).toEqual([0, `The page is in ${path}.\n`])
  const report = JSON.parse(stdout) as { all: object; models: { balance: object }[] }
  expect(report.all).toMatchObject({ requests: { due: 5, answered: 5, failed: 0 }, tokens_in: 45, tokens_out: 10 })
  expect(report.models[0]!.balance).toMatchObject({ known: true, from: 'all answers' })
  expect(readFileSync(path, 'utf8')).toMatch(/^<!doctype html>[^]*<\/html>\n$/)
  expect(stdout + readFileSync(path, 'utf8')).not.toContain('s3cret')
})

test('a model that is not there is told before anything is sent', async () => {
  const { url, asked } = await aGateway()
  const path = join(tempFolder(), 'report.html')
  const { code, stderr } = await bench(url, ['skiper', '--rate', '1', '--html', path]).ended
  expect([code, stderr]).toEqual([1, 'There is no model "skiper". Did you mean skipper?\n'])
  expect([asked(), existsSync(path)]).toEqual([0, false])
})

test('a page that cannot be written is told before anything is sent', async () => {
  const { url, asked } = await aGateway()
  const { code, stderr } = await bench(url, [...QUICK, '--html', '/nowhere/report.html']).ended
  expect([code, asked()]).toEqual([2, 0])
  expect(stderr).toContain('--html: cannot write /nowhere/report.html')
})

test('where nothing was answered the exit code says so', async () => {
  const { url } = await aGateway({ isSilent: true })
  const { code, stdout } = await bench(url, [...QUICK, '--timeout', '100ms']).ended
  expect(code).toBe(1)
  expect(stdout).toMatch(/^ +5 +timeout no end within 0.1 s$/m)
})

test('Ctrl-C ends it with what is known by then', async () => {
  const { url, asked } = await aGateway({ isSilent: true })
  let press = (): void => {}
  const onInterrupt = (act: () => void) => {
    press = act
    return () => {}
  }
  const { ended } = bench(url, ['skipper', '--rate', '100', '--for', '1h'], { onInterrupt })
  await until(() => asked() > 2)
  press()
  const { code, stdout } = await ended
  expect(code).toBe(130)
  expect(stdout).toContain('Ended by Ctrl-C')
  expect(stdout).toMatch(/^ +\d+ +unfinished$/m)
})

test('shows how far it is to somebody who sits there', async () => {
  const { url } = await aGateway()
  const { ended } = bench(url, [...QUICK, '--warm-up', '50ms'], { interactive: true })
  expect((await ended).stderr).toContain('warming up: 0s of 0s  0 in flight\n')
})
