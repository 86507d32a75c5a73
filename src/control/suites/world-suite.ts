import { describe, expect, test } from 'vitest'
import type { KeyCreated } from '../../api/admin/schemas.ts'
import { listEvents } from '../../store/nouns/events.ts'
import { listReplicas } from '../../store/nouns/replicas.ts'
import type { StoredWorld } from '../../store/world/world.ts'
import { aDevice, aReport, aRule } from '../../../test/support/builders.ts'
import { anApplicant, type Applicant } from '../../../test/support/control/control-scene.ts'
import { sceneOn, type OpenStore } from './control-suite.ts'
import { RoutingFeed } from '../routing/routing-feed.ts'

/** What a turn reads of labels, rules, hardware and keys; run on each kind of store. */
export function describeWorld(storeName: string, openStore: OpenStore): void {
  describe(`what a turn reads on ${storeName}`, () => {
    const scene = sceneOn(openStore, { autoApprove: true })

    async function heardNodes(...names: string[]): Promise<Applicant[]> {
      const nodes = names.map((name) => anApplicant(name))
      for (const node of nodes) {
        await scene().register(node)
        await scene().heartbeat(node)
      }
      return nodes
    }

    const node = (world: StoredWorld, who: Applicant) => world.nodes.find(({ id }) => id === who.nodeId)!

    test("decisions see a node's effective labels: an admin's word over the worker's, that over the automatic", async () => {
      const who = anApplicant('thor')
      await scene().register(who, {
        labels: { tier: 'slow', rack: '7', 'gpu.vendor': 'mine' },
        auto_labels: { 'gpu.vendor': 'nvidia', 'gpu.count': '2' },
        max_replicas_per_model: 3,
      })
      await scene().register(anApplicant('loki'), { labels: { tier: 'other' } })
      await scene().admin('PUT', `/api/nodes/${who.nodeId}/labels`, { tier: 'fast', __proto__x: 'y' })
      const { world } = await scene().turn()
      expect(node(world, who).labels).toEqual({
        'gpu.count': '2',
        'gpu.vendor': 'mine',
        'node.name': 'thor',
        'node.replica-slots': '3',
        __proto__x: 'y',
        rack: '7',
        tier: 'fast',
      })
    })

    test('free VRAM is that of all devices, and unknown when one of them is or there is none', async () => {
      const who = anApplicant('thor')
      await scene().register(who)
      const heard = async (free: (number | null)[]) => {
        const devices = free.map((available_vram, index) => aDevice({ index, uuid: `u${index}`, available_vram }))
        await scene().heartbeat(who, [], { devices })
        return node((await scene().turn()).world, who).availableVram
      }
      expect(await heard([])).toBeNull()
      expect(await heard([5, null])).toBeNull()
      expect(await heard([5, 7])).toBe(12)
      expect(await heard([0])).toBe(0)
    })

    test('when a node was last heard comes along, by the clock of the store', async () => {
      const [who] = await heardNodes('thor')
      const before = await scene().turn()
      expect(before.world.nowMs - node(before.world, who!).lastHeartbeatMs!).toBeLessThan(15_000)
      await scene().silentFor(20_000, who!)
      const after = await scene().turn()
      expect(after.world.nowMs - node(after.world, who!).lastHeartbeatMs!).toBeGreaterThan(15_000)
      const fresh = anApplicant('fresh')
      await scene().register(fresh)
      expect(node((await scene().turn()).world, fresh).lastHeartbeatMs).toBeNull()
    })

    test('a rule keeps all that it asks for until it is saved again', async () => {
      const path = '/api/nodes/scheduling'
      const selector = { tier: ['fast', 'faster'], 'node.replica-slots': '2' }
      const idle = { scale_to_zero_after_s: 60 }
      await scene().admin('POST', path, {
        model_name: 'm',
        node_selector: selector,
        route_policy: 'round_robin',
        ...idle,
      })
      expect((await scene().turn()).world.rules).toEqual([
        aRule({ nodeSelector: selector, routePolicy: 'round_robin', minReplicas: 0, scaleToZeroAfterMs: 60_000 }),
      ])
      await scene().admin('POST', path, { model_name: 'm', min_replicas: 1 })
      expect((await scene().turn()).world.rules).toEqual([aRule()])
      await scene().admin('POST', path, { model_name: 'm', spread_all: true, node_selector: { '!spot': '' } })
      const saved = (await listEvents(scene().db, 0, 1000)).filter(({ action }) => action === 'rule.saved')
      expect(saved).toMatchObject([
        {
          reason:
            '0 to any number of replicas of m on nodes with tier=fast|faster,node.replica-slots=2, none after 60 s without a request',
          data: { route_policy: 'round_robin' },
        },
        { reason: '1 to any number of replicas of m', data: { node_selector: {} } },
        { reason: 'one replica of m on every node with !spot', data: { spread_all: true } },
      ])
    })

    test('a label that changes wakes control, which moves the replica and then stops the old one', async () => {
      const [thor, loki] = await heardNodes('thor', 'loki')
      const { db } = scene()
      const label = (who: Applicant, tier: string) => scene().admin('PUT', `/api/nodes/${who.nodeId}/labels`, { tier })
      const ready = async (who: Applicant) => {
        const rows = (await listReplicas(db)).filter(({ nodeId }) => nodeId === who.nodeId)
        await scene().heartbeat(
          who,
          rows.map(({ id, generation }) => aReport({ id, generation })),
        )
      }
      await label(thor!, 'fast')
      await scene().wants(1, { tier: 'fast' })
      expect((await scene().turn()).plan.steps).toMatchObject([{ kind: 'reserve', nodeId: thor!.nodeId }])
      await ready(thor!)
      const changes = scene().asked.changes
      await label(loki!, 'fast')
      await label(thor!, 'slow')
      expect(scene().asked.changes).toBe(changes + 2)
      expect((await scene().turn()).plan.steps).toMatchObject([{ kind: 'reserve', nodeId: loki!.nodeId }])
      expect((await scene().turn()).plan.steps).toEqual([])
      await ready(loki!)
      expect((await scene().turn()).plan.steps).toMatchObject([
        { kind: 'stop', why: 'selector', replica: { nodeId: thor!.nodeId } },
      ])
      const states = (await listReplicas(db)).map(({ nodeId, state }) => [nodeId, state])
      expect(Object.fromEntries(states)).toEqual({ [thor!.nodeId]: 'draining', [loki!.nodeId]: 'ready' })
    })

    test('a key that expires leaves the routing table by itself, at the next turn', async () => {
      const { db } = scene()
      const make = async (body: object) => (await scene().admin<KeyCreated>('POST', '/api/keys', body)).body
      const lasting = await make({ name: 'lasting', models: ['m'] })
      const ending = await make({ name: 'ending', expires_in_s: 60 })
      const revoked = await make({ name: 'revoked' })
      await scene().admin('DELETE', `/api/keys/${revoked.id}`)
      const feed = new RoutingFeed('secret')
      const told = async () => {
        const { world, keys } = await scene().turn()
        return feed.update(world, keys)
      }
      const first = await told()
      expect(first.keys?.map(({ id }) => id).toSorted()).toEqual([lasting.id, ending.id].toSorted())
      expect(JSON.stringify(first)).not.toContain(lasting.key)
      expect(await told()).not.toHaveProperty('keys')
      await db.transaction((tx) =>
        tx.query('update api_keys set expires_at = now_ms() - 1 where name = $1', ['ending']),
      )
      expect(await told()).toMatchObject({ version: 2, keys: [{ id: lasting.id, models: ['m'] }] })
    })
  })
}
