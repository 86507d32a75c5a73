import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Route } from '../../api/admin/route.ts'
import type { KeyCreated } from '../../api/admin/schemas.ts'
import type { KeyScope } from '../../api/key-scope.ts'
import { adminRoutes, type AdminRouteName } from '../../api/admin/routes.ts'
import { SPOKEN } from '../../platform/peer-versions.ts'
import { sign } from '../../bus/nkey.ts'
import { canonicalJson } from '../../core/lib/canonical-json.ts'
import { aStage, sharedStage, type Stage } from '../../../test/support/control/admin-stage.ts'
import {
  ADMIN_KEY,
  anApplicant,
  aRegistration,
  JOIN_TOKEN,
  signatureOf,
} from '../../../test/support/control/control-scene.ts'
import type { Applicant } from '../../../test/support/control/control-scene.ts'
import { KNOWN_REQUEST } from '../../../test/support/control/scripted-worker.ts'

/** The path of a route with its parts filled in: an existing node, label, token, key, request, replica, model. */
function pathOf({ path }: Route, { thor, tokenId, keyId, replicaId }: Stage): string {
  const ids: Record<string, string> = { tokens: tokenId, keys: keyId, requests: KNOWN_REQUEST, replicas: replicaId }
  return path
    .replace(':id', ids[path.split('/')[2]!] ?? thor.nodeId)
    .replace(':key', 'tier')
    .replace(':name', 'm')
    .replace(':path', 'm.gguf')
}

interface Happy {
  body?: (stage: Stage) => unknown
  path?: (stage: Stage) => string
  says?: unknown
}

function aSignedRegistration(who: Applicant): unknown {
  const registration = aRegistration(who)
  return { registration, signature: sign(who.seed, canonicalJson(registration)) }
}

/** A route that is missing here does not compile. */
const happy: Record<AdminRouteName, Happy> = {
  registerNode: { body: () => aSignedRegistration(anApplicant('odin')), says: { name: 'odin', approved: false } },
  nodeFile: {},
  nodeCredentials: { says: { approved: true, credentials: { bus_url: 'nats://bus:4222' } } },
  deregisterNode: { says: {} },
  listNodes: {
    says: [
      { name: 'loki', status: 'pending' },
      { name: 'thor', status: 'healthy' },
    ],
  },
  getNode: { says: { name: 'thor', approved: true, replica_count: 1, max_replicas_per_model: 2, above_cap: 0 } },
  deleteNode: { says: {} },
  explainNode: {
    says: {
      node_name: 'thor',
      status: 'healthy',
      text: ['thor takes replicas: of 1 model it could have a further one of 1.'],
      models: [{ model_name: 'm', replicas: [{ key: 'm#0', state: 'reserved' }], refusal: null }],
    },
  },
  approveNode: { path: ({ loki }) => `/api/nodes/${loki.nodeId}/approve`, says: { name: 'loki', status: 'offline' } },
  drainNode: { says: { status: 'draining', desired: 'draining', liveness: 'online' } },
  resumeNode: { says: { status: 'healthy', desired: 'active' } },
  getLabels: { says: { labels: { rack: '7', tier: 'gold' }, label_sources: { rack: 'worker', tier: 'admin' } } },
  putLabels: { body: () => ({ a: 'b' }), says: { labels: { a: 'b', rack: '7', 'node.name': 'thor' } } },
  patchLabels: { body: () => ({ a: 'b', tier: null }), says: { labels: { a: 'b', 'node.replica-slots': '2' } } },
  deleteLabel: { says: { labels: { rack: '7' } } },
  setSlots: { body: () => ({ value: 5 }), says: { max_replicas_per_model: 5, max_replicas_declared: 2 } },
  resetSlots: { says: { max_replicas_per_model: 2, max_replicas_per_model_manually_set: false } },
  setBudget: { body: () => ({ value: '80%' }), says: { vram_budget: '80%', vram_budget_manually_set: true } },
  resetBudget: { says: { vram_budget: null, vram_budget_bytes: null } },
  listNodeModels: { says: [{ model_name: 'm', replica_index: 0, in_flight: 0, state: 'reserved' }] },
  unloadModel: {
    body: () => ({ model_name: 'm' }),
    says: { replicas: [{ key: 'm#0', gone: true }], kept_by_rule: true },
  },
  inspectModel: {
    body({ models }) {
      mkdirSync(models, { recursive: true })
      writeFileSync(join(models, 'speech.bin'), 'speech')
      return { source: 'frontend:speech.bin' }
    },
    says: { payload_bytes: 6, header: null },
  },
  pullModel: { body: () => ({ model_name: 'm', pull_id: 'p' }), says: { id: 'p', state: 'running', bytes: null } },
  deleteModelFiles: { body: () => ({ model_name: 'other' }), says: { files: 2, freed_bytes: 1000 } },
  listBackends: { says: [{ name: 'sim', state: 'available' }] },
  installBackend: { body: () => ({ engine: 'vllm' }), says: { name: 'vllm', operation: { kind: 'install' } } },
  upgradeBackend: { body: () => ({ engine: 'vllm' }), says: { name: 'vllm', operation: { kind: 'upgrade' } } },
  deleteBackend: { body: () => ({ engine: 'vllm' }), says: { name: 'vllm', operation: { kind: 'delete' } } },
  listLogs: { says: [] },
  readLogs: {},
  nodeMetrics: {},
  metricTargets: { says: [{ labels: { node: 'thor' } }] },
  listReplicas: { says: [{ model_name: 'm' }] },
  restartReplica: {
    body: () => ({}),
    says: {
      key: 'm#0',
      text: 'm#0 on thor has stopped. The rule of its model starts another one where there is room.',
    },
  },
  listModels: { says: [{ name: 'm', state: 'starting', replicas: 1, ready_replicas: 0 }] },
  getModel: { says: { name: 'm', memory: null, anti_affinity: null, payload_bytes: null, last_loaded_at: null } },
  saveModel: {
    body: () => ({ name: 'x', engine: 'sim' }),
    says: { name: 'x', options: {}, effect: { is_changed: true, replaced: 0 } },
  },
  putModel: {
    body: () => ({ engine: 'sim', options: { parallel: 2 } }),
    says: { name: 'm', options: { parallel: 2 }, effect: { is_changed: true, replaced: 1 } },
  },
  loadModel: { says: { state: 'loading', loading: { model: 'm', state: 'reserved', node: 'thor', progress: 0 } } },
  unloadModelEverywhere: {
    body: () => ({}),
    says: { replicas: [{ key: 'm#0', gone: true }], kept_by_rule: true },
  },
  loadStatus: { says: { state: 'loading', reason: null, next_attempt_at: null } },
  explainModel: {
    says: {
      model_name: 'm',
      status: { state: 'loading' },
      wanted: { min: 1, max: 0 },
      nodes: [
        { node_name: 'loki', refusal: { filter: 'approved' } },
        { node_name: 'thor', refusal: null, replicas: [{ key: 'm#0', state: 'reserved', is_current: true }] },
      ],
      next: { node_name: 'thor', victims: [] },
      last_decision: { action: 'replica.placed' },
      last_load: null,
    },
  },
  deleteModel: { says: { deleted: 'm' } },
  listRules: { says: [{ model_name: 'm', min_replicas: 1, node_selector: {}, route_policy: 'least_loaded' }] },
  saveRule: {
    body: () => ({ model_name: 'x', min_replicas: 2, node_selector: { tier: 'gold' }, route_policy: 'session' }),
    says: { model_name: 'x', max_replicas: 0, node_selector: { tier: 'gold' }, route_policy: 'session' },
  },
  getRule: { says: { model_name: 'm', min_replicas: 1, max_replicas: 0 } },
  deleteRule: { says: { deleted: 'm' } },
  plan: {
    body: () => ({ document: { models: [{ name: 'x', engine: 'sim' }] }, prune: true }),
    says: { changes: [{ name: 'm' }, { name: 'x', action: 'add' }, { noun: 'rule' }, { noun: 'node', name: 'thor' }] },
  },
  apply: {
    body: () => ({ document: { nodes: [{ name: 'thor', labels: null }, { name: 'odin' }] } }),
    says: { changes: [{ noun: 'node', action: 'remove', name: 'thor' }], absent_nodes: ['odin'] },
  },
  exportDocument: {
    says: {
      models: [{ name: 'm', engine: 'sim' }],
      rules: [{ model_name: 'm', min_replicas: 1 }],
      nodes: [{ name: 'thor', labels: { tier: 'gold' } }],
    },
  },
  whatIf: {
    body: () => ({ node_lost: ['thor'], add_nodes: [{ spec: 'cpu' }] }),
    says: {
      steps: [
        { kind: 'lost', key: 'm#0' },
        { kind: 'start', node_name: 'new-1' },
      ],
      impossible: [],
    },
  },
  acceptLoss: { says: { nodes: [] } },
  watchCluster: {},
  showCluster: {
    says: {
      nodes: [{ name: 'loki' }, { name: 'thor', replica_count: 1 }],
      models: [{ name: 'm', state: 'starting', wanted: 1, ready: 0 }],
      problems: [{ kind: 'approval', node_name: 'loki', advice: 'approve loki' }],
    },
  },
  listTokens: {
    says: [
      { name: 'default', uses: 2 },
      { name: 'extra', uses: 0, state: 'active' },
    ],
  },
  createToken: { body: () => ({ max_uses: 3, expires_in_s: 60 }), says: { name: 'unnamed', max_uses: 3, uses: 0 } },
  rotateToken: { says: { name: 'default', state: 'active' } },
  revokeToken: { says: { name: 'extra', state: 'revoked' } },
  listKeys: { says: [{ name: 'app', state: 'active', scopes: ['inference'], models: null }] },
  createKey: { body: () => ({ name: 'ci', scopes: ['admin'] }), says: { name: 'ci', scopes: ['admin'] } },
  rotateKey: { body: () => ({}), says: { name: 'app', state: 'active', key: expect.stringMatching(/^fk_/) } },
  revokeKey: { says: { name: 'app', state: 'revoked' } },
  rotateAdminKey: { says: { key: expect.stringMatching(/^fla_/), ended_sessions: 0 } },
  admitGateway: {
    body: () => ({ protocol: SPOKEN.newest, public_key: anApplicant().publicKey }),
    says: { bus_url: 'nats://bus:4222' },
  },
  signIn: { body: () => ({ key: ADMIN_KEY }), says: { signed_in: true, actor: 'admin' } },
  showSession: { says: { signed_in: false, actor: null, expires_at: null } },
  signOut: { says: {} },
  createInferenceToken: { says: { token: null, expires_at: null } },
  createSignInCode: { says: { code: expect.stringMatching(/^flo_[\w-]{43}$/) } },
  explainRequest: { says: { request_id: KNOWN_REQUEST, tries: [{ outcome: 'served' }] } },
  streamEvents: {},
  exportStore: {},
  listEvents: {
    path: ({ thor }) => `/api/events/history?node_id=${thor.nodeId}&limit=2`,
    says: [{ action: 'node.labelled' }, { action: 'replica.placed' }],
  },
  openapi: { says: { openapi: '3.1.0' } },
}

const routes = Object.entries(adminRoutes) as [AdminRouteName, Route][]
const answered = routes.filter(([, { stream }]) => !stream)
const withAuth = (...auth: Route['auth'][]) => routes.filter(([, route]) => auth.includes(route.auth))

describe('every route answers what it promises', () => {
  test.each(answered)('%s', async (name, route) => {
    const stage = await aStage()
    const { body, path = () => pathOf(route, stage), says } = happy[name]
    const authorization = {
      admin: `Bearer ${ADMIN_KEY}`,
      read: `Bearer ${ADMIN_KEY}`,
      join: `Bearer ${JOIN_TOKEN}`,
      none: '',
      node: '',
    }[route.auth]
    const answer =
      route.auth === 'node'
        ? await stage.scene.signed<unknown>(stage.thor, route.method, path(stage))
        : await stage.scene.call<unknown>(route.method, path(stage), body?.(stage), authorization)
    expect(answer).toMatchObject({ status: 200, body: says })
    expect(route.reply.parse(answer.body)).toEqual(answer.body)
  })
})

describe('a caller without permission is refused before anything else is checked', () => {
  const shared = sharedStage()

  test.each(withAuth('admin', 'read'))('%s asks for the admin key', async (_, route) => {
    const stage = shared()
    const changes = stage.scene.asked.changes
    const call = (authorization?: string) =>
      stage.scene.call(route.method, pathOf(route, stage), undefined, authorization)
    expect(await call()).toMatchObject({
      status: 401,
      body: { error: { message: expect.stringContaining('admin key') } },
    })
    for (const key of ['nope', JOIN_TOKEN]) {
      expect(await call(`Bearer ${key}`)).toMatchObject({
        status: 401,
        body: { error: { message: 'The admin key is wrong.' } },
      })
    }
    const signature = signatureOf(stage.thor, route.method, pathOf(route, stage), Date.now())
    expect((await call(signature)).status).toBe(401)
    expect(stage.scene.asked.changes).toBe(changes)
  })

  test.each(withAuth('join'))('%s asks for a join token', async (_, route) => {
    const { scene } = shared()
    const answers = [undefined, 'Bearer nope', `Bearer ${ADMIN_KEY}`].map((key) =>
      scene.call(route.method, route.path, {}, key),
    )
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([401, 401, 401])
  })

  test.each(withAuth('node'))('%s asks for the signature of the very node', async (_, route) => {
    const stage = shared()
    const { scene, thor, loki } = stage
    const path = pathOf(route, stage)
    const from = (who: Applicant, signedAtMs?: number) => scene.signed<unknown>(who, route.method, path, signedAtMs)
    for (const authorization of [undefined, `Bearer ${ADMIN_KEY}`, `Bearer ${JOIN_TOKEN}`, 'Node 1', 'Node x.y']) {
      expect((await scene.call(route.method, path, undefined, authorization)).status).toBe(401)
    }
    expect(await from(loki)).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } })
    expect((await from(thor, Date.now() - 301_000)).status).toBe(401)
    expect((await from(thor, Date.now() + 301_000)).status).toBe(401)
    const elsewhere = signatureOf(thor, route.method, `${path}x`, Date.now())
    expect((await scene.call(route.method, path, undefined, elsewhere)).status).toBe(403)
    const nobody = route.path.replace(':id', 'nobody')
    expect((await scene.signed(thor, route.method, nobody)).status).toBe(404)
  })
})

describe('what a key is for is looked at on every route', () => {
  const shared = sharedStage()

  test.each(withAuth('admin', 'read'))('%s looks at what a key is for', async (name, route) => {
    const { scene } = shared()
    const statusFor = async (scope: KeyScope): Promise<number> => {
      const made = await scene.admin<KeyCreated>('POST', '/api/keys', { name: scope, scopes: [scope] })
      // Most accepted calls have a useless body or id here; only the status of the scope check matters.
      const path = route.path.replace(/:\w+/g, 'nobody')
      const ending = new AbortController()
      const { status } = await fetch(`${scene.url}${path}`, {
        method: route.method,
        headers: { authorization: `Bearer ${made.body.key}` },
        signal: ending.signal,
      })
      ending.abort()
      return status
    }
    expect(await statusFor('inference')).toBe(403)
    if (route.auth === 'admin') expect(await statusFor('read')).toBe(403)
    else expect(await statusFor('read')).not.toBe(403)
    // What it answers holds the secret of the cluster: the admin key of the frontend alone opens it.
    if (name === 'exportStore') expect(await statusFor('admin')).toBe(403)
    else expect([401, 403]).not.toContain(await statusFor('admin'))
  })

  test('a key that may look changes nothing: whatever is no mere question needs an admin', () => {
    const questions = new Set<string>(['plan', 'whatIf'])
    const reads = withAuth('read').filter(([name, { method }]) => method !== 'GET' && !questions.has(name))
    expect(reads).toEqual([])
  })
})

describe('an unknown id, label, token, key or name is not found', () => {
  const shared = sharedStage()

  // A model that is not there is made by putting it there.
  const asking = withAuth('admin', 'read').filter(([name, { path }]) => path.includes(':') && name !== 'putModel')

  test.each(asking)('%s', async (name, route) => {
    const { scene, thor } = shared()
    const body = bodies[name]
    const path = route.path.replace(/:(id|name)/, 'nobody').replace(':key', 'tier')
    expect(await scene.admin(route.method, path, body)).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found' } },
    })
    if (name !== 'deleteLabel') return
    expect((await scene.admin('DELETE', `/api/nodes/${thor.nodeId}/labels/unknown`)).status).toBe(404)
  })
})

const bodies: Partial<Record<AdminRouteName, object>> = {
  rotateKey: {},
  putLabels: {},
  patchLabels: {},
  setSlots: { value: 1 },
  setBudget: { value: '1%' },
  unloadModel: { model_name: 'm' },
  unloadModelEverywhere: {},
  restartReplica: {},
  deleteModelFiles: { model_name: 'm' },
  pullModel: { model_name: 'm' },
  installBackend: { engine: 'sim' },
  upgradeBackend: { engine: 'sim' },
  deleteBackend: { engine: 'sim' },
}
