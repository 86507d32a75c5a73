import { describe, expect, onTestFinished, test } from 'vitest'
import type { KeyCreated, KeyInput } from '../../api/admin/schemas.ts'
import { adminApi } from '../../control/api/admin-api.ts'
import { adminKeyMessages } from '../../control/joining/admin-key.ts'
import type { Dashboard } from './dashboard-files.ts'
import { frontDoor, type Rooms } from './router.ts'
import { LiveTable } from '../../gateway/table/routing-table.ts'
import { formatAddress } from '../../platform/address.ts'
import { systemClock } from '../../platform/run/clock.ts'
import { sendJson, startHttpServer } from '../../http/server.ts'
import { Metrics } from '../../platform/metrics/metrics.ts'
import { hashSecret } from '../../platform/secrets.ts'
import { listRoutedKeys } from '../../store/nouns/api-keys.ts'
import { ADMIN_KEY } from '../../../test/support/control/control-scene.ts'
import { serve } from '../../../test/support/http/http.ts'
import { aLoggedScene } from '../../../test/support/control/logged-scene.ts'

function someMetrics(): Metrics {
  const metrics = new Metrics()
  metrics.gauge('flotilla_routing_table_stale', 'Whether it is stale.', [], () => [{ labels: [], value: 0 }])
  return metrics
}

/** A frontend and a gateway on its own, on one store; inference answers with who asked. */
async function aCluster() {
  const { scene, db, lines, log } = await aLoggedScene()
  const table = new LiveTable()
  const open = async (rooms: Pick<Rooms, 'admin'>, adminKeyHash?: string): Promise<string> => {
    const guard = { keys: table, clock: systemClock, localInference: true, adminKeyHash }
    const inference: Rooms['inference'] = {
      guard,
      metrics: someMetrics(),
      handler(request, response, caller) {
        if (request.url?.startsWith('/v1/break')) throw new Error('broken inside')
        sendJson(response, 200, caller)
      },
      ollama: (_, response, caller) => sendJson(response, 200, { ollama: caller }),
    }
    const handler = frontDoor({ inference, checks: {}, dashboard: aDashboard, ...rooms })
    const listen = { host: '127.0.0.1', port: 0 }
    const server = await startHttpServer({ listen, purpose: 'a test', flag: '--none', handler, log })
    onTestFinished(() => server.dispose(0))
    return `http://${formatAddress(server.address)}`
  }
  const frontend = await open({ admin: adminApi(scene.deps) }, hashSecret(ADMIN_KEY))
  const gateway = await open({})
  let version = 0
  return {
    frontend,
    gateway,
    lines,
    /** What the leader tells the gateways after a change. */
    tell: async () => {
      const keys = [...adminKeyMessages(ADMIN_KEY), ...(await listRoutedKeys(db))]
      table.replace({ feed: 'f', version: (version += 1), models: [], routes: [], keys })
    },
    create: async (body: Partial<KeyInput> = {}) => {
      const init = { method: 'POST', body: JSON.stringify({ name: 'notebook', ...body }) }
      return (await call(`${frontend}/api/keys`, ADMIN_KEY, init)).body as unknown as KeyCreated
    },
  }
}

/** Has one page. */
const aDashboard: Dashboard = (request, response) => {
  const isIt = request.url === '/'
  if (isIt) response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Flotilla</title>')
  return isIt
}

async function call(url: string, key?: string, init: RequestInit = {}) {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const response = await fetch(url, { headers, ...init })
  const body = (await response.json()) as { error?: { message: string; code: string }; keyId?: string | null }
  return { status: response.status, body }
}

describe('a key', () => {
  test('works at every gateway from when it is told to them until it is revoked', async () => {
    const { frontend, gateway, create, tell } = await aCluster()
    const { key, id } = await create({ models: ['m'] })
    const ask = async (url: string) => (await call(`${url}/v1/models`, key)).status
    expect([await ask(frontend), await ask(gateway)]).toEqual([503, 503])
    await tell()
    for (const url of [frontend, gateway]) {
      expect(await call(`${url}/v1/models`, key)).toEqual({ status: 200, body: { keyId: id, models: ['m'] } })
    }
    await call(`${frontend}/api/keys/${id}`, ADMIN_KEY, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${ADMIN_KEY}` },
    })
    await tell()
    expect([await ask(frontend), await ask(gateway)]).toEqual([401, 401])
  })

  test('for inference opens nothing else; one for the admin API opens both', async () => {
    const { frontend, create, tell } = await aCluster()
    const [plain, boss] = [await create(), await create({ name: 'boss', scopes: ['admin'] })]
    await tell()
    expect((await call(`${frontend}/api/keys`, plain.key)).status).toBe(403)
    expect((await call(`${frontend}/api/keys`, boss.key)).status).toBe(200)
    expect((await call(`${frontend}/v1/models`, boss.key)).body).toMatchObject({ keyId: boss.id })
  })

  test('is needed for the admin API on this machine too', async () => {
    const { frontend } = await aCluster()
    expect((await call(`${frontend}/v1/models`)).body).toEqual({ keyId: null, models: null })
    expect((await call(`${frontend}/api/keys`)).status).toBe(401)
  })

  test('that is wrong is told in the words of the API that was asked', async () => {
    const { gateway, tell } = await aCluster()
    await tell()
    const headers = { 'x-api-key': 'fk_wrong' }
    const [openai, anthropic] = await Promise.all(
      ['/v1/chat/completions', '/v1/messages'].map((path) => call(`${gateway}${path}`, undefined, { headers })),
    )
    const error = { type: 'authentication_error', message: expect.stringContaining('flotilla keys create') }
    expect(openai).toMatchObject({ status: 401, body: { error: { ...error, param: null } } })
    expect(anthropic).toMatchObject({ status: 401, body: { type: 'error', error } })
  })

  test('is in no log and no answer, whatever goes wrong', async () => {
    const { frontend, gateway, create, tell, lines } = await aCluster()
    const { key } = await create({ scopes: ['admin'] })
    await tell()
    const answers = []
    for (const url of [frontend, gateway]) {
      for (const path of ['/v1/break', '/v1/x?key=', '/v1/x?anything=', '/v1/models', '/api/nothing', '/nothing']) {
        const inQuery = path.endsWith('=') ? key : ''
        for (const shown of [key, `${key}x`, undefined]) answers.push(await call(`${url}${path}${inQuery}`, shown))
      }
    }
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 400, 401, 404, 500]))
    expect(lines.join('')).toContain('broken inside')
    for (const told of [lines.join(''), JSON.stringify(answers)]) {
      expect(told).not.toContain(key.slice(3))
      expect(told).not.toContain(hashSecret(key))
    }
  })
})

describe('a gateway on its own', () => {
  test('takes the admin key once it was told of it, and has no admin API and no page', async () => {
    const { frontend, gateway, tell } = await aCluster()
    expect((await call(`${gateway}/v1/models`, ADMIN_KEY)).status).toBe(503)
    await tell()
    expect((await call(`${gateway}/v1/models`, ADMIN_KEY)).body).toMatchObject({ keyId: 'admin' })
    for (const path of ['/api/keys', '/']) {
      const { status, body } = await call(`${gateway}${path}`, ADMIN_KEY)
      expect([status, body.error?.message]).toEqual([404, expect.stringContaining('the admin API at a frontend')])
    }
    expect((await fetch(`${frontend}/`)).status).toBe(200)
  })
})

test('while it starts it says so, and shows its page', async () => {
  const url = await serve(frontDoor({ checks: { start: () => 'starting' }, dashboard: aDashboard }))
  expect(await call(`${url}/v1/models`, 'fk_any')).toMatchObject({
    status: 503,
    body: { error: { code: 'unavailable' } },
  })
  expect((await fetch(`${url}/`)).status).toBe(200)
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
})

describe('metrics', () => {
  const through = (url: string, headers: Record<string, string>) => fetch(`${url}/metrics`, { headers })
  /** As a reverse proxy on this machine would pass on somebody from elsewhere. */
  const fromElsewhere = { 'x-forwarded-for': '203.0.113.9' }

  test('are for programs on this machine, and elsewhere for who holds a key that may look', async () => {
    const { frontend, gateway, tell, create } = await aCluster()
    const { key: app } = await create()
    const { key: reader } = await create({ scopes: ['read'] })
    const { key: admin } = await create({ scopes: ['admin'] })
    await tell()
    for (const url of [frontend, gateway]) {
      const local = await through(url, {})
      expect(local.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
      expect(await local.text()).toMatch(/\nflotilla_routing_table_stale 0\n$/)
      const asked = (key?: string) =>
        through(url, { ...fromElsewhere, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) })
      expect((await asked()).status).toBe(401)
      const refused = await asked(app)
      expect(refused.status).toBe(403)
      expect(await refused.text()).toContain('flotilla keys create --name prometheus --scope read')
      for (const key of [reader, admin]) expect((await asked(key)).status).toBe(200)
    }
  })
})

test('the admin API can be read as a page, where there is one', async () => {
  const { frontend, gateway } = await aCluster()
  const page = await fetch(`${frontend}/docs`)
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect((await fetch(`${gateway}/docs`)).status).toBe(404)
})

describe("Ollama's paths", () => {
  test('go to the gateway with the same keys as all others, and those beside them to the admin API', async () => {
    const { frontend, gateway, create, tell } = await aCluster()
    const { key, id } = await create({ models: ['m'] })
    await tell()
    for (const url of [frontend, gateway]) {
      expect((await call(`${url}/api/tags`, key)).body).toEqual({ ollama: { keyId: id, models: ['m'] } })
    }
    expect(await call(`${frontend}/api/nodes`, key)).toMatchObject({ status: 403 })
  })

  test('refuse a key that is wrong as Ollama does', async () => {
    const { frontend, tell } = await aCluster()
    await tell()
    const { status, body } = await call(`${frontend}/api/tags`, 'fk_wrong')
    expect([status, body.error]).toEqual([401, expect.stringContaining('not known')])
  })
})
