import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { TokenCreated, TokenView } from '../../api/admin/schemas.ts'
import { SPOKEN } from '../../platform/peer-versions.ts'
import { newSeed, publicKeyOf } from '../../bus/nkey.ts'
import { listEvents } from '../../store/nouns/events.ts'
import { listNodes } from '../../store/nouns/nodes.ts'
import { listReplicas } from '../../store/nouns/replicas.ts'
import { anApplicant, JOIN_TOKEN, type Answer } from '../../../test/support/control/control-scene.ts'
import { ensureDefaultToken } from '../api/nouns/tokens.ts'
import { sceneOn, type OpenStore } from './control-suite.ts'

const errorOf = (answer: Answer<unknown>): string =>
  (answer.body as { error?: { message: string } }).error?.message ?? 'no error'

/** How nodes come, come back and go; run on each kind of store. */
export function describeJoining(storeName: string, openStore: OpenStore): void {
  describe(`joining on ${storeName}`, () => {
    const scene = sceneOn(openStore)
    const approve = (id: string) => scene().admin('POST', `/api/nodes/${id}/approve`)

    describe('registration', () => {
      test('gives an id and nothing to work with until an admin has approved the node', async () => {
        const node = anApplicant()
        const answer = await scene().register(node)
        expect(answer).toMatchObject({ status: 200, body: { name: 'thor', approved: false, credentials: null } })
        await approve(node.nodeId)
        expect(scene().asked.approved).toEqual([node.publicKey])
        const { body } = await scene().signed(node, 'POST', `/api/node/${node.nodeId}/credentials`)
        expect(body).toMatchObject({
          node_id: node.nodeId,
          approved: true,
          credentials: { bus_url: 'nats://bus:4222', bus_jwt: null, heartbeat_period_ms: 5000 },
        })
        expect(body.credentials!.data_key).toMatch(/^[\w-]{43}$/)
        expect((await scene().register(node)).body).toEqual(body)
      })

      test('another key that the old one vouches for is the same node, and the old one counts no more', async () => {
        const [old, next, thief] = [anApplicant('thor'), anApplicant('thor'), anApplicant('thor')]
        await scene().register(old)
        await approve(old.nodeId)
        expect(await scene().register(thief, {}, { old: { ...old, seed: thief.seed } })).toMatchObject({ status: 401 })
        const { body } = await scene().register(next, {}, { old })
        expect(body).toMatchObject({ node_id: old.nodeId, approved: true, credentials: { bus_url: 'nats://bus:4222' } })
        expect(scene().asked.removed).toEqual([old.publicKey])
        const credentials = `/api/node/${old.nodeId}/credentials`
        expect((await scene().signed(old, 'POST', credentials)).status).toBe(403)
        expect((await scene().signed(next, 'POST', credentials)).status).toBe(200)
        // Told once more, after an answer that was lost: nothing is left to replace.
        expect((await scene().register(next, {}, { old })).body.node_id).toBe(old.nodeId)
        // The old key cannot come back in the same way: no node has it now, and another node has the name.
        expect((await scene().register(old)).status).toBe(409)
        const told = (await listEvents(scene().db, 0, 1000)).filter(({ action }) => action === 'node.key_replaced')
        expect(told).toMatchObject([{ actor: 'node thor', node_id: old.nodeId }])
      })

      test('the same key again is the same node: what an admin decided stays', async () => {
        const node = anApplicant()
        await scene().register(node, { labels: { rack: '1', old: 'x' }, max_replicas_per_model: 2, vram_budget: '90%' })
        const path = `/api/nodes/${node.nodeId}`
        await approve(node.nodeId)
        await scene().admin('POST', `${path}/drain`)
        await scene().admin('PUT', `${path}/max-replicas-per-model`, { value: 7 })
        await scene().admin('PUT', `${path}/vram-budget`, { value: '50%' })
        await scene().admin('PUT', `${path}/labels`, { tier: 'gold', rack: 'mine' })
        const id = node.nodeId
        node.bootId = 'boot2'
        node.name = 'thor2'
        await scene().register(node, {
          address: '10.0.0.1:9091',
          labels: { rack: '2', new: 'y' },
          max_replicas_per_model: 4,
          vram_budget: '12GiB',
        })
        expect(node.nodeId).toBe(id)
        expect(await scene().node(node)).toMatchObject({
          name: 'thor2',
          address: '10.0.0.1:9091',
          approved: true,
          desired: 'draining',
          max_replicas_per_model: 7,
          max_replicas_declared: 4,
          max_replicas_per_model_manually_set: true,
          vram_budget: '50%',
          vram_budget_declared: '12GiB',
          labels: { tier: 'gold', rack: 'mine', new: 'y', 'node.name': 'thor2', 'node.replica-slots': '7' },
          label_sources: { tier: 'admin', rack: 'admin', new: 'worker', 'node.name': 'auto' },
        })
        expect((await scene().node(node)).labels).not.toHaveProperty('old')
      })

      test('another node with the same name is refused, naming both keys', async () => {
        const [node, other] = [anApplicant(), anApplicant()]
        await scene().register(node)
        const answer = await scene().register(other)
        expect(answer.status).toBe(409)
        expect(errorOf(answer)).toContain(`(key ${node.publicKey}, yours is ${other.publicKey})`)
        const third = anApplicant('loki')
        await scene().register(third)
        expect((await scene().register({ ...third, name: 'thor' })).status).toBe(409)
      })

      test.each([
        ['a signature by another key', {}, newSeed(), 401, 'does not prove'],
        ['a time that is far off', { signed_at: Date.now() - 301_000 }, undefined, 401, 'Set both clocks'],
        ['an older protocol', { protocol: SPOKEN.oldest - 1 }, undefined, 400, 'Update the worker'],
        ['a newer protocol', { protocol: SPOKEN.newest + 1, colour: 'new' }, undefined, 400, 'Update the frontend'],
        ['a budget that is none', { vram_budget: 'lots' }, undefined, 400, 'expected a share such as 80%'],
        ['a label that is none', { labels: { ' x': '1' } }, undefined, 400, 'no spaces at the ends'],
        ['the label of the slots', { labels: { 'node.replica-slots': '9' } }, undefined, 400, 'max_replicas_per_model'],
        ['an automatic label that is none', { auto_labels: { a: '\n' } }, undefined, 400, 'auto_labels'],
        ['101 labels', { labels: manyLabels(101) }, undefined, 400, '100 labels'],
        ['a port that is none', { address: 'here:99999' }, undefined, 400, 'host:port'],
        ['no slots', { max_replicas_per_model: 0 }, undefined, 400, 'max_replicas_per_model'],
      ])('%s is refused', async (_, fields, seed, status, message) => {
        const node = anApplicant()
        const answer = await scene().register(node, fields, { seed: seed ?? node.seed })
        expect({ status: answer.status, error: errorOf(answer) }).toEqual({
          status,
          error: expect.stringContaining(message) as string,
        })
        expect(await listNodes(scene().db)).toEqual([])
      })

      test('an address without a host is the one that the worker calls from', async () => {
        const node = anApplicant()
        for (const address of [':9191', '0.0.0.0:9191', '[::]:9191']) {
          await scene().register(node, { address })
          expect(await listNodes(scene().db)).toMatchObject([{ address: '127.0.0.1:9191' }])
        }
        await scene().register(node, { address: '[fd00::1]:9191' })
        expect(await listNodes(scene().db)).toMatchObject([{ address: '[fd00::1]:9191' }])
      })

      test('a new boot has none of the old replicas; a reconnect of the same boot changes nothing', async () => {
        const node = anApplicant()
        await scene().register(node)
        await approve(node.nodeId)
        await scene().wants(1)
        await scene().heartbeat(node)
        await scene().turn()
        const before = await scene().node(node)
        const events = await listEvents(scene().db, 0, 1000)
        await scene().register(node)
        expect(await scene().node(node)).toEqual(before)
        expect(await listReplicas(scene().db)).toHaveLength(1)
        expect(await listEvents(scene().db, 0, 1000)).toEqual(events)
        expect(await scene().heartbeat({ ...node, seq: 0 })).toBeUndefined()
        node.bootId = 'boot2'
        node.seq = 0
        await scene().register(node)
        expect(await listReplicas(scene().db)).toEqual([])
        expect(await scene().heartbeat(node)).toBeDefined()
      })

      test('an agent is listed and heard, and never gets replicas, slots or backends', async () => {
        const node = anApplicant()
        await scene().register(node, { node_type: 'agent', max_replicas_per_model: 4 })
        await approve(node.nodeId)
        await scene().wants(1)
        await scene().heartbeat(node)
        expect((await scene().turn()).plan.steps).toEqual([])
        expect(await scene().node(node)).toMatchObject({
          node_type: 'agent',
          status: 'healthy',
          max_replicas_per_model: 0,
          labels: { 'node.replica-slots': '0' },
        })
        expect((await scene().admin('GET', `/api/nodes/${node.nodeId}/backends`)).body).toEqual([])
        const slots = await scene().admin('PUT', `/api/nodes/${node.nodeId}/max-replicas-per-model`, { value: 2 })
        expect(slots.status).toBe(409)
      })
    })

    describe('a graceful goodbye', () => {
      test('leaves the node offline, without replicas, until it registers again; a drain stays', async () => {
        const node = anApplicant()
        await scene().register(node)
        await approve(node.nodeId)
        await scene().wants(1)
        await scene().heartbeat(node)
        await scene().turn()
        await scene().admin('POST', `/api/nodes/${node.nodeId}/drain`)
        const goodbye = () => scene().signed(node, 'POST', `/api/node/${node.nodeId}/deregister`)
        expect((await goodbye()).status).toBe(200)
        expect((await goodbye()).status).toBe(200)
        expect(await listReplicas(scene().db)).toEqual([])
        expect(await scene().heartbeat(node)).toBeUndefined()
        await scene().silentFor(20_000, node)
        expect((await scene().turn()).silent).toEqual([])
        expect(await scene().node(node)).toMatchObject({ liveness: 'offline', approved: true, desired: 'draining' })
        await scene().register(node)
        node.seq = 0
        expect(await scene().heartbeat(node)).toMatchObject({ told: true })
        expect(await scene().node(node)).toMatchObject({ status: 'draining', liveness: 'online' })
        const actions = (await listEvents(scene().db, 0, 100)).map(({ action }) => action)
        expect(actions.filter((action) => action === 'node.deregistered')).toHaveLength(1)
      })

      test('of a run before, heard late, does not concern the one that has registered since', async () => {
        const node = anApplicant()
        await scene().register(node)
        await approve(node.nodeId)
        const late = { boot_id: node.bootId }
        node.bootId = 'the next boot'
        await scene().register(node)
        const path = `/api/node/${node.nodeId}/deregister`
        const goodbye = (body: object) => scene().signed(node, 'POST', path, Date.now(), body)
        expect((await goodbye(late)).status).toBe(200)
        expect(await scene().heartbeat(node)).toMatchObject({ told: true })
        expect((await goodbye({ boot_id: node.bootId })).status).toBe(200)
        expect(await scene().heartbeat(node)).toBeUndefined()
      })
    })

    describe('automatic approval', () => {
      test('concerns new nodes only: a pending one stays pending, however often it registers', async () => {
        const node = anApplicant()
        await scene().register(node)
        scene().deps.autoApprove = true
        node.bootId = 'boot2'
        expect((await scene().register(node)).body.approved).toBe(false)
        const other = anApplicant('loki')
        expect((await scene().register(other)).body.approved).toBe(true)
        expect(scene().asked.approved).toEqual([other.publicKey])
      })

      test('the worker inside a frontend is approved by its key', async () => {
        const node = anApplicant()
        scene().deps.approves = (publicKey) => publicKey === node.publicKey
        expect((await scene().register(node)).body).toMatchObject({ approved: true, credentials: {} })
        expect((await scene().register(anApplicant('loki'))).body.approved).toBe(false)
      })
    })

    describe('join tokens', () => {
      const create = async (input: object): Promise<TokenCreated> =>
        (await scene().admin<TokenCreated>('POST', '/api/tokens', input)).body
      const stateOf = async (id: string): Promise<Partial<TokenView>> => {
        const { body } = await scene().admin<TokenView[]>('GET', '/api/tokens')
        return body.find((token) => token.id === id)!
      }

      test('each says why it no longer works; nodes that joined with it stay and may come back', async () => {
        const node = anApplicant()
        const revoked = await create({ name: 'batch' })
        await scene().register(node, {}, { token: revoked.token })
        await scene().admin('DELETE', `/api/tokens/${revoked.id}`)
        const expired = await create({ expires_in_s: 1 })
        await scene().db.transaction((tx) =>
          tx.query('update join_tokens set expires_at = 1 where id = $1', [expired.id]),
        )
        const usedUp = await create({ max_uses: 1 })
        await scene().register(anApplicant('loki'), {}, { token: usedUp.token })
        for (const [{ token }, state] of [
          [revoked, 'revoked'],
          [expired, 'expired'],
          [usedUp, 'used up'],
        ] as const) {
          const answer = await scene().register(anApplicant('odin'), {}, { token })
          expect([answer.status, errorOf(answer)]).toEqual([401, expect.stringContaining(`join token is ${state}`)])
          expect((await scene().register({ ...node, bootId: state }, {}, { token })).status).toBe(200)
        }
        const unknown = await scene().register({ ...node }, {}, { token: 'flj_nobody' })
        expect([unknown.status, errorOf(unknown)]).toEqual([401, expect.stringContaining('join token is wrong')])
        expect(await stateOf(usedUp.id)).toMatchObject({ state: 'used up', uses: 1, max_uses: 1 })
        expect(await stateOf(expired.id)).toMatchObject({ state: 'expired', uses: 0, last_used_at: null })
        expect(await listNodes(scene().db)).toHaveLength(2)
      })

      test('coming back takes no use; a refused registration takes none either', async () => {
        const { token, id } = await create({ max_uses: 2 })
        const node = anApplicant()
        for (const bootId of ['a', 'b', 'c']) await scene().register({ ...node, bootId }, {}, { token })
        expect((await scene().register(anApplicant(), {}, { token })).status).toBe(409)
        expect(await stateOf(id)).toMatchObject({ uses: 1, state: 'active' })
      })

      test('are never used more often than they may be, however many come at once', async () => {
        const uses = fc.integer({ min: 1, max: 5 })
        const crowds = fc.integer({ min: 1, max: 10 })
        await fc.assert(
          fc.asyncProperty(uses, crowds, async (maxUses, crowd) => {
            const { token, id } = await create({ max_uses: maxUses })
            const answers = await Promise.all(
              Array.from({ length: crowd }, (_, i) => scene().register(anApplicant(`${id} ${i}`), {}, { token })),
            )
            const joined = answers.filter(({ status }) => status === 200).length
            expect(joined).toBe(Math.min(maxUses, crowd))
            expect(answers.filter(({ status }) => status === 401)).toHaveLength(crowd - joined)
            expect(await stateOf(id)).toMatchObject({ uses: joined })
            const nodes = (await listNodes(scene().db)).filter(({ name }) => name.startsWith(id))
            expect(nodes).toHaveLength(joined)
          }),
          { numRuns: 8 },
        )
      })

      test('the default one can be replaced: the old one ends in the same moment', async () => {
        const { body } = await scene().admin<TokenCreated>('POST', '/api/tokens/rotate')
        expect(scene().asked.defaultToken).toBe(body.token)
        expect((await scene().register(anApplicant(), {}, { token: JOIN_TOKEN })).status).toBe(401)
        expect((await scene().register(anApplicant(), {}, { token: body.token })).status).toBe(200)
        await Promise.all([1, 2, 3].map(() => scene().admin('POST', '/api/tokens/rotate')))
        const { body: tokens } = await scene().admin<TokenView[]>('GET', '/api/tokens')
        expect(tokens.filter(({ state }) => state === 'active')).toHaveLength(1)
        expect((await scene().register(anApplicant('loki'), {}, { token: scene().asked.defaultToken })).status).toBe(
          200,
        )
      })

      test('the one in the data folder is inserted at start, once, and stays revoked when it was', async () => {
        const { body: tokens } = await scene().admin<TokenView[]>('GET', '/api/tokens')
        expect(tokens).toMatchObject([{ name: 'default', state: 'active' }])
        await scene().admin('DELETE', `/api/tokens/${tokens[0]!.id}`)
        await ensureDefaultToken(scene().db, JOIN_TOKEN)
        expect(await stateOf(tokens[0]!.id)).toMatchObject({ state: 'revoked' })
        expect((await scene().admin<TokenView[]>('GET', '/api/tokens')).body).toHaveLength(1)
      })

      test('no answer but the first shows the text, and the store does not hold it', async () => {
        const { token } = await create({ name: 'x' })
        expect(JSON.stringify((await scene().admin('GET', '/api/tokens')).body)).not.toContain(token)
        for (const table of ['join_tokens', 'events']) {
          expect(JSON.stringify(await scene().db.query(`select * from ${table}`))).not.toContain(token)
        }
      })
    })

    test("a node's signature is good for its own calls only", async () => {
      const [a, b] = [anApplicant('a'), anApplicant('b')]
      await scene().register(a)
      await scene().register(b)
      for (const what of ['credentials', 'deregister']) {
        const path = `/api/node/${b.nodeId}/${what}`
        expect((await scene().signed(a, 'POST', path)).status).toBe(403)
        // To a worker 403 and 404 mean that it is no longer wanted; a clock that is off does not.
        expect((await scene().signed(b, 'POST', path, Date.now() - 301_000)).status).toBe(401)
        expect((await scene().call('POST', path)).status).toBe(401)
        expect((await scene().admin('POST', path)).status).toBe(401)
        expect((await scene().signed(b, 'POST', `/api/node/${publicKeyOf(a.seed)}/${what}`)).status).toBe(404)
        expect((await scene().signed(b, 'POST', path)).status).toBe(200)
      }
    })
  })
}

function manyLabels(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']))
}
