import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { KeyCreated, TokenCreated } from '../src/api/admin/schemas.ts'
import { dataKeyOf } from '../src/control/workers/data-key.ts'
import { Cluster } from './support/cluster.ts'
import { runFlotilla, startGatewayProcess } from './support/flotilla.ts'
import { onServers } from './support/grounds.ts'
import { until } from './support/until.ts'

/** What each is kept in: in folders that nobody else can read. The routing table has the keys of data ports, to serve by. */
const HOMES = [
  'admin.key',
  'join.token',
  'cluster.secret',
  'gateway.seed',
  'node.seed',
  'data.key',
  'routing-table.json',
]
const HF_TOKEN = 'hf_planted0123456789abcdefghijklmnop'
const read = (...path: string[]) => readFileSync(join(...path), 'utf8').trim()

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

test('nothing that a busy cluster writes holds a secret', { timeout: 120_000 }, async () => {
  const ground = await onServers()
  const debug = ['--log-level', 'debug']
  const cluster = await Cluster.start(...ground.args, ...debug, '--auto-approve')
  const { frontend } = cluster
  const worker = cluster.worker('a', { args: debug, env: { FLOTILLA_HF_TOKEN: HF_TOKEN } })
  await cluster.isHealthy('a')
  await cluster.model('m', 1)
  const admin = read(frontend.data, 'admin.key')
  const gateway = await startGatewayProcess({ env: { FLOTILLA_KEY: admin }, args: ['--url', frontend.url, ...debug] })
  const key = await cluster.ask<KeyCreated>('POST', '/api/keys', { name: 'app' })
  const token = await cluster.ask<TokenCreated>('POST', '/api/tokens', { name: 'more' })
  const nodeId = (await cluster.node('a'))!.id
  const secrets: Record<string, string> = {
    'the admin key': admin,
    'the join token': read(frontend.data, 'join.token'),
    'the cluster secret': read(frontend.data, 'cluster.secret'),
    'the data key': dataKeyOf(read(frontend.data, 'cluster.secret'), nodeId),
    'the API key': key.key,
    'another join token': token.token,
    'the token of the hub': HF_TOKEN,
    "the gateway's seed": read(gateway.data, 'gateway.seed'),
  }

  const answers: string[] = []
  const ask = async (url: string, path: string, bearer: string, init: RequestInit = {}): Promise<void> => {
    const response = await fetch(`${url}${path}`, { ...init, headers: { authorization: `Bearer ${bearer}` } })
    answers.push(JSON.stringify([...response.headers]), await response.text())
  }
  const chat = { method: 'POST', body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] }) }
  for (const { url } of [frontend, gateway]) {
    for (const secret of Object.values(secrets)) {
      await ask(url, '/v1/chat/completions', secret, chat)
      await ask(url, `/v1/models?key=${encodeURIComponent(secret)}`, secret)
      await ask(url, '/api/node/register', secret, { method: 'POST', body: '{' })
      await ask(url, `/api/nodes/${encodeURIComponent('nobody')}`, secret)
    }
    answers.push(await (await fetch(`${url}/metrics`)).text(), await (await fetch(`${url}/readyz`)).text())
  }
  for (const path of ['/api/nodes', '/api/events/history', '/api/keys', '/api/tokens', '/api/export', '/api/cluster'])
    answers.push(JSON.stringify((await frontend.admin('GET', path)).body))
  const told = await Promise.all([
    runFlotilla(['status', '--data', frontend.data]),
    runFlotilla(['nodes', '--url', frontend.url], { FLOTILLA_KEY: `${admin}x` }),
    runFlotilla(['worker', '--join', frontend.url, '--data', join(gateway.data, 'w')], { FLOTILLA_TOKEN: 'flj_wrong' }),
  ])
  await worker.signal('SIGKILL')
  await until(async () => (await cluster.node('a'))?.status !== 'healthy')

  const written: Record<string, string> = {
    answers: answers.join('\n'),
    'what commands print': told.map(({ stdout, stderr }) => stdout + stderr).join('\n'),
    'the log of the frontend': frontend.stdout() + frontend.stderr(),
    'the log of the gateway': gateway.stdout() + gateway.stderr(),
    'the log of the worker': worker.stderr(),
    'arguments of processes': execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }),
  }
  for (const table of ['api_keys', 'join_tokens', 'events', 'nodes', 'models', 'replicas', 'sessions'])
    written[`table ${table}`] = JSON.stringify(await ground.rows(frontend.data, `select * from ${table}`))
  for (const folder of [frontend.data, gateway.data, worker.data]) {
    for (const file of filesBelow(folder)) {
      if (HOMES.some((name) => file.endsWith(name))) expect(statSync(file).mode & 0o077, file).toBe(0)
      else written[file] = readFileSync(file, 'latin1')
    }
    expect(statSync(folder).mode & 0o077, folder).toBe(0)
  }
  const found = Object.entries(secrets).flatMap(([what, secret]) =>
    Object.entries(written).flatMap(([where, text]) => (text.includes(secret) ? [`${what} is in ${where}`] : [])),
  )
  expect(found).toEqual([])
  expect(Object.values(written).join('').length).toBeGreaterThan(20_000)
})
