import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { adminRoutes } from '../../api/admin/routes.ts'
import type { NodeRegistration, Registered } from '../../api/admin/schemas.ts'
import { listNodes } from '../../store/nouns/nodes.ts'
import { listReplicas } from '../../store/nouns/replicas.ts'
import { loadWorld } from '../../store/world/world.ts'
import {
  anApplicant,
  type Answer,
  type Applicant,
  type ControlScene,
} from '../../../test/support/control/control-scene.ts'
import { sceneOn, type OpenStore } from './control-suite.ts'
import { RoutingFeed } from '../routing/routing-feed.ts'

/** What a worker can do, alone and as often as it likes. */
type WorkerAct =
  | { act: 'register'; newBoot: boolean; fields: Partial<NodeRegistration> }
  | { act: 'credentials' | 'heartbeat' | 'deregister' }
/** What else can happen to it: everything an admin can do, except for approving and removing it. */
type OtherAct =
  | { act: 'silence'; ms: number }
  | { act: 'turn' }
  | { act: 'admin'; method: string; path: string; body?: unknown }

const label = fc.constantFrom('a', 'зона', 'tier')
const labels = fc.dictionary(label, fc.constantFrom('1', '2'), { maxKeys: 3 })

const workerAct: fc.Arbitrary<WorkerAct> = fc.oneof(
  fc.record({
    act: fc.constant('register' as const),
    newBoot: fc.boolean(),
    fields: fc.record(
      {
        labels,
        auto_labels: labels,
        max_replicas_per_model: fc.integer({ min: 1, max: 4 }),
        vram_budget: fc.constantFrom(null, '10%', '2GiB'),
        node_type: fc.constantFrom('backend' as const, 'agent' as const),
        address: fc.constantFrom('10.0.0.1:1', ':2'),
      },
      { requiredKeys: [] },
    ),
  }),
  fc.record({ act: fc.constantFrom('credentials' as const, 'heartbeat' as const, 'deregister' as const) }),
)

const otherAct: fc.Arbitrary<OtherAct> = fc.oneof(
  fc.record({ act: fc.constant('silence' as const), ms: fc.constantFrom(1, 20_000, 61_000) }),
  fc.constant({ act: 'turn' as const }),
  fc.constantFrom<OtherAct>(
    { act: 'admin', method: 'POST', path: '/drain' },
    { act: 'admin', method: 'POST', path: '/resume' },
    { act: 'admin', method: 'PUT', path: '/labels', body: { a: 'b' } },
    { act: 'admin', method: 'PATCH', path: '/labels', body: { tier: 'gold' } },
    { act: 'admin', method: 'PUT', path: '/max-replicas-per-model', body: { value: 5 } },
    { act: 'admin', method: 'DELETE', path: '/max-replicas-per-model' },
    { act: 'admin', method: 'PUT', path: '/vram-budget', body: { value: '50%' } },
    { act: 'admin', method: 'DELETE', path: '/vram-budget' },
  ),
)

async function perform(
  scene: ControlScene,
  who: Applicant,
  step: WorkerAct | OtherAct,
): Promise<Answer<unknown> | undefined> {
  switch (step.act) {
    case 'register':
      if (step.newBoot) Object.assign(who, { bootId: `${who.bootId}x`, seq: 0 })
      return scene.register(who, step.fields)
    case 'credentials':
    case 'deregister':
      return scene.signed(who, 'POST', `/api/node/${who.nodeId}/${step.act}`)
    case 'heartbeat':
      await scene.heartbeat(who)
      return undefined
    case 'silence':
      await scene.silentFor(step.ms, who)
      await scene.turn()
      return undefined
    case 'turn':
      await scene.turn()
      return undefined
    case 'admin':
      return scene.admin(step.method, `/api/nodes/${who.nodeId}${step.path}`, step.body)
  }
}

/** No node takes part without approval, and what an admin decided stays decided; run on each kind of store. */
export function describeApproval(storeName: string, openStore: OpenStore): void {
  describe(`approval on ${storeName}`, () => {
    const scene = sceneOn(openStore)
    let run = 0

    test('nothing but an approval lets a pending node take part', async () => {
      await scene().wants(4)
      const member = anApplicant('member')
      await scene().register(member)
      await scene().admin('POST', `/api/nodes/${member.nodeId}/approve`)
      const feed = new RoutingFeed('secret')
      await fc.assert(
        fc.asyncProperty(fc.array(fc.oneof(workerAct, otherAct), { minLength: 1, maxLength: 12 }), async (steps) => {
          const who = anApplicant(`pending ${(run += 1)}`)
          await scene().register(who)
          for (const step of steps) {
            await scene().heartbeat(member)
            const answer = await perform(scene(), who, step)
            const told = answer?.body as Partial<Registered> | undefined
            if (told && 'credentials' in told) expect(told).toMatchObject({ approved: false, credentials: null })
            await scene().turn()
            await expectOutside(scene(), who, feed)
          }
          await scene().admin('DELETE', `/api/nodes/${who.nodeId}`)
        }),
        { numRuns: 15 },
      )
      expect(await listReplicas(scene().db)).toMatchObject([{ nodeId: member.nodeId }])
    })

    test('what an admin set survives whatever the worker does', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(workerAct, { minLength: 1, maxLength: 10 }), async (steps) => {
          const who = anApplicant(`node ${(run += 1)}`)
          await scene().register(who)
          const path = `/api/nodes/${who.nodeId}`
          await scene().admin('POST', `${path}/approve`)
          await scene().admin('POST', `${path}/drain`)
          await scene().admin('PUT', `${path}/labels`, { tier: 'gold', mine: 'yes' })
          await scene().admin('PUT', `${path}/max-replicas-per-model`, { value: 9 })
          await scene().admin('PUT', `${path}/vram-budget`, { value: '33%' })
          const id = who.nodeId
          for (const step of steps) await perform(scene(), who, step)
          expect(who.nodeId).toBe(id)
          const node = await scene().node(who)
          expect(node).toMatchObject({
            approved: true,
            desired: 'draining',
            labels: { tier: 'gold', mine: 'yes' },
            label_sources: { tier: 'admin', mine: 'admin' },
            max_replicas_per_model_manually_set: true,
            vram_budget: '33%',
            vram_budget_manually_set: true,
          })
          expect(node.max_replicas_per_model).toBe(node.node_type === 'agent' ? 0 : 9)
          await scene().admin('DELETE', path)
        }),
        { numRuns: 15 },
      )
      expect(await listNodes(scene().db)).toEqual([])
    })

    test('there is one route that approves, and it asks for the admin key', () => {
      const approving = Object.entries(adminRoutes).filter(([, { path }]) => path.endsWith('/approve'))
      expect(approving.map(([name, { auth }]) => [name, auth])).toEqual([['approveNode', 'admin']])
    })
  })
}

async function expectOutside(scene: ControlScene, who: Applicant, feed: RoutingFeed): Promise<void> {
  const world = await scene.db.transaction((tx) => loadWorld(tx))
  expect(world.nodes.find(({ id }) => id === who.nodeId)).toMatchObject({ approved: false, liveness: 'offline' })
  expect(world.replicas.filter(({ nodeId }) => nodeId === who.nodeId)).toEqual([])
  feed.update(world, [])
  expect(feed.snapshot(0).routes.filter((route) => route.node_id === who.nodeId)).toEqual([])
  expect(scene.asked.approved).not.toContain(who.publicKey)
  expect(scene.asked.credentials).not.toContain(who.publicKey)
}
