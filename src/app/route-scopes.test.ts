import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { adminRoutes } from '../api/admin/routes.ts'
import type { Route } from '../api/admin/route.ts'
import type { KeyScope } from '../api/key-scope.ts'
import { frontDoor } from './front/router.ts'
import { hashSecret } from '../platform/secrets.ts'
import { sendJson, type Handler } from '../http/server.ts'
import { Metrics } from '../platform/metrics/metrics.ts'
import { serve } from '../../test/support/http/http.ts'
import { dataPortHandler, healthHandler } from '../worker/data-port/handler.ts'

/** What a listener of a role serves besides the admin API, whose routes are a table of their own. */
interface Served {
  role: 'gateway' | 'worker' | 'health listener of a worker'
  method: string
  path: string
  needs: string
}

const served: readonly Served[] = [
  ...['POST', 'GET', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'].map((method) =>
    gateway(method, '/v1/chat/completions', 'inference'),
  ),
  gateway('GET', '/v1/models', 'inference'),
  gateway('GET', '/v1/models/m', 'inference'),
  gateway('POST', '/v1/anything/else', 'inference'),
  ...['/api/chat', '/api/generate', '/api/embed'].map((path) => gateway('POST', path, 'inference')),
  gateway('GET', '/api/tags', 'inference'),
  gateway('GET', '/metrics', 'read'),
  gateway('GET', '/healthz', 'nothing'),
  gateway('GET', '/readyz', 'nothing'),
  ...['POST', 'GET', 'DELETE'].map((method) => worker(method, '/replicas/r/7/v1/x', 'data key')),
  worker('GET', '/replicas/unknown/1/x', 'data key'),
  worker('GET', '/cable', 'data key'),
  worker('GET', '/logs', 'data key'),
  worker('GET', '/logs/m%230', 'data key'),
  worker('GET', '/anything', 'data key'),
  worker('GET', '/healthz', 'data key, or this machine'),
  worker('GET', '/readyz', 'data key, or this machine'),
  { role: 'health listener of a worker', method: 'GET', path: '/healthz', needs: 'nothing' },
  { role: 'health listener of a worker', method: 'GET', path: '/readyz', needs: 'nothing' },
]

function gateway(method: string, path: string, needs: string): Served {
  return { role: 'gateway', method, path, needs }
}
function worker(method: string, path: string, needs: string): Served {
  return { role: 'worker', method, path, needs }
}

const scopes: readonly KeyScope[] = ['inference', 'read', 'admin']
const keys = new Map(scopes.map((scope) => [hashSecret(`fk_${scope}`), scope]))
const guard = {
  keys: {
    hasSnapshot: () => true,
    keyByHash(hash: string) {
      const scope = keys.get(hash)
      return scope && { id: scope, key_hash: hash, scopes: [scope], models: null, expires_at: null }
    },
  },
  clock: { nowMs: () => 0 },
  localInference: true,
}
const answered = (_: unknown, response: ServerResponse): void => sendJson(response, 200, {})
const door = frontDoor({
  inference: {
    handler: (_request, response) => void response.writeHead(200, {}).end(),
    ollama: (_request, response) => void response.writeHead(200, {}).end(),
    guard,
    metrics: new Metrics(),
  },
  checks: {},
})
const dataPort = dataPortHandler({
  replicas: { find: () => undefined },
  dataKey: () => 'data-key',
  checks: {},
  extra: async (_request, response, path) => path.startsWith('/logs') && (answered(undefined, response), true),
})
const listeners: Record<Served['role'], Handler> = {
  gateway: door,
  worker: dataPort,
  'health listener of a worker': healthHandler({}),
}

/** As somebody on another machine asks. */
async function ask({ role, method, path }: Served, key?: string, from = '203.0.113.9'): Promise<number> {
  const handler: Handler = (request, response) => {
    const socket = { remoteAddress: from }
    return listeners[role](Object.create(request, { socket: { value: socket } }) as IncomingMessage, response)
  }
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  return (await fetch(`${await serve(handler)}${path}`, { method, headers })).status
}

describe.each(served)('$role: $method $path', (route) => {
  const { needs } = route
  test(`needs ${needs}`, async () => {
    if (needs === 'nothing') return expect(await ask(route)).toBe(200)
    expect(await ask(route)).toBe(401)
    for (const wrong of ['nope', 'fk_nope', 'x'.repeat(600)]) expect(await ask(route, wrong)).toBe(401)
    if (route.role === 'worker') {
      for (const scope of scopes) expect(await ask(route, `fk_${scope}`)).toBe(401)
      expect(await ask(route, 'data-key')).not.toBe(401)
      if (needs !== 'data key') expect(await ask(route, undefined, '127.0.0.1')).toBe(200)
      return
    }
    const other = needs === 'read' ? 'inference' : 'read'
    expect(await ask(route, `fk_${other}`)).toBe(403)
    for (const right of [needs, 'admin']) expect([401, 403]).not.toContain(await ask(route, `fk_${right}`))
    expect(await ask(route, 'data-key')).toBe(401)
  })
})

test('whatever else a gateway or a health listener is asked for is not there, for nobody', async () => {
  for (const role of ['gateway', 'health listener of a worker'] as const) {
    for (const path of ['/', '/api/nodes', '/api/keys', '/replicas/r/7/x', '/logs', '/.env', '/metrics/', '/v1']) {
      for (const key of [undefined, 'fk_admin'])
        expect(await ask({ role, method: 'GET', path, needs: '' }, key)).toBe(404)
    }
  }
})

const WHO: Record<Route['auth'], string> = {
  admin: 'admin',
  read: 'read',
  join: 'join token',
  node: 'signature of that node',
  none: 'nothing',
}

test('the page names every route of every role and what it needs', async () => {
  const admin = Object.values(adminRoutes).map(({ method, path, auth, summary }: Route) => {
    return `| frontend | ${method} | \`${path}\` | ${WHO[auth]} | ${summary} |`
  })
  const others = served.map(({ role, method, path, needs }) => `| ${role} | ${method} | \`${path}\` | ${needs} | |`)
  const page = `# Routes and what each needs

Made by tests that walk all of them, without a key, with wrong ones and with keys for something else: [admin-api.test.ts](../../src/control/api/admin-api.test.ts)
those of the admin API, [route-scopes.test.ts](../../src/app/route-scopes.test.ts) the others. Whatever a key of scope \`inference\` or \`read\` opens, one of scope
\`admin\` opens as well. A program on the machine of a gateway itself needs no key for inference and metrics while \`--local-inference\` is on. Everything under \`/v1/\` takes the
same way, so a few paths stand for all. Frontends serve what gateways serve, and the files of the dashboard, which hold nothing secret.

| role | method | path | needs | |
|---|---|---|---|---|
${[...admin, ...others].join('\n')}
`
  await expect(page).toMatchFileSnapshot('../../docs/reference/routes.md')
})
