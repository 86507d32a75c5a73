import { describe, expect, test } from 'vitest'
import { reconcile } from '../../core/reconcile/reconcile.ts'
import { appendEvent } from '../../store/nouns/events.ts'
import { listReplicas } from '../../store/nouns/replicas.ts'
import { saveFacts } from '../../store/nouns/model-facts.ts'
import { loadWorld, type StoredWorld } from '../../store/world/world.ts'
import { aReport } from '../../../test/support/builders.ts'
import { anApplicant, type Applicant } from '../../../test/support/control/control-scene.ts'
import { sceneOn, type OpenStore } from './control-suite.ts'

/** A turn that goes on from the last one sees what one that reads everything sees; run on each kind of store. */
export function describeKeptWorld(storeName: string, openStore: OpenStore): void {
  describe(`the world that is kept between turns on ${storeName}`, () => {
    const scene = sceneOn(openStore, { autoApprove: true })

    /** A turn that reads only what has changed; its world is what is in the store, and its memory changes no plan. */
    async function keptTurn(): Promise<StoredWorld> {
      const { world, kept } = await scene().keptTurn()
      const stored = await loadWorld(scene().db)
      expect(inOrder(world)).toEqual(inOrder({ ...stored, nowMs: world.nowMs }))
      expect(reconcile(world, 'spread', kept.memory)).toEqual(reconcile(world))
      return world
    }

    async function heard(name: string, labels: Record<string, string> = {}): Promise<Applicant> {
      const node = anApplicant(name)
      await scene().register(node, { labels })
      await scene().heartbeat(node)
      return node
    }

    const saveModel = (name: string, options = {}) =>
      scene().admin('PUT', `/api/models/${name}`, { engine: 'sim', options })
    const saveRule = (model_name: string, fields: object) =>
      scene().admin('POST', '/api/nodes/scheduling', { model_name, ...fields })

    test('follows whatever admins, workers and turns change', async () => {
      const [a, b] = [await heard('a'), await heard('b', { tier: 'fast' })]
      await keptTurn()
      await saveModel('m')
      await keptTurn()
      await saveRule('m', { min_replicas: 2 })
      expect((await keptTurn()).replicas).toHaveLength(2)
      for (const { id, generation, nodeId } of await listReplicas(scene().db)) {
        await scene().heartbeat(nodeId === a.nodeId ? a : b, [aReport({ id, generation, state: 'ready' })])
      }
      expect((await keptTurn()).replicas.map(({ state }) => state)).toEqual(['ready', 'ready'])
      await scene().admin('PUT', `/api/nodes/${a.nodeId}/labels`, { tier: 'slow' })
      await keptTurn()
      await saveRule('m', { min_replicas: 1, node_selector: { tier: 'fast' } })
      expect((await keptTurn()).replicas.map(({ state }) => state).toSorted()).toEqual(['draining', 'ready'])
      await scene().admin('POST', `/api/nodes/${b.nodeId}/drain`)
      expect((await keptTurn()).nodes.map(({ desired }) => desired)).toContain('draining')
      await scene().admin('PUT', `/api/nodes/${a.nodeId}/max-replicas-per-model`, { value: 3 })
      await keptTurn()
      await saveModel('m', { threads: 2 })
      await keptTurn()
      await scene().admin('POST', '/api/models/other/load')
      await saveModel('other')
      await scene().admin('POST', '/api/models/other/load')
      expect((await keptTurn()).demands).toHaveLength(1)
      await scene().admin('DELETE', `/api/nodes/${a.nodeId}`)
      expect((await keptTurn()).nodes).toHaveLength(1)
      await scene().admin('DELETE', '/api/nodes/scheduling/m')
      await scene().admin('DELETE', '/api/models/m')
      expect((await keptTurn()).models.map(({ name }) => name)).toEqual(['other'])
    })

    test('sees a node that fell silent, and what it took with it', async () => {
      const a = await heard('a')
      const [b] = [await heard('b'), await heard('c')]
      await saveModel('m')
      await saveRule('m', { min_replicas: 1 })
      await keptTurn()
      await scene().silentFor(600_000, a, b)
      const world = await keptTurn()
      expect(world.nodes.filter(({ liveness }) => liveness === 'offline')).toHaveLength(2)
      expect((await scene().keptTurn()).plan.frozen).toHaveLength(2)
    })

    test('keeps the rows that were not changed, and reads again those that events name', async () => {
      const [a] = [await heard('a'), await heard('b')]
      await saveModel('m')
      const before = await keptTurn()
      await scene().heartbeat(a, [], { available_ram: 12_345 })
      const after = await keptTurn()
      expect(after.nodes[1]).toBe(before.nodes[1])
      expect(after.nodes[0]).toMatchObject({ availableRam: 12_345 })
      expect(after.models[0]).toBe(before.models[0])
    })

    test('does not read a node again whose heartbeat says what the one before it said', async () => {
      const a = await heard('a')
      const before = await keptTurn()
      expect(await scene().heartbeat(a)).toMatchObject({ isSame: true })
      const after = (await scene().keptTurn()).world
      expect(after.nodes[0]).toBe(before.nodes[0])
      expect(await scene().heartbeat(a, [], { available_disk: 12_345 })).toMatchObject({ isSame: false })
      expect((await keptTurn()).nodes[0]).toMatchObject({ availableDisk: 12_345 })
    })

    test('sees what its own frontend writes without an event, while that is noted', async () => {
      await saveModel('m')
      const before = await keptTurn()
      const facts = { modelName: 'm', revision: before.models[0]!.revision, payloadBytes: 7, header: null }
      const save = (): Promise<void> =>
        scene().db.transaction((tx) => saveFacts(tx, { ...facts, problem: null, retryAtMs: null }))
      await scene().own.during({ modelNames: ['m'] }, save)
      expect((await keptTurn()).facts).toMatchObject([{ payloadBytes: 7 }])
    })

    test('reads everything after an event that names nothing, and where events are missing', async () => {
      await heard('a')
      const before = await keptTurn()
      const about = { actor: 'admin', action: 'test.changed', reason: '' }
      await scene().db.transaction((tx) => appendEvent(tx, about))
      const whole = await keptTurn()
      expect(whole.nodes[0]).not.toBe(before.nodes[0])
      await scene().db.transaction(async (tx) => {
        await appendEvent(tx, { ...about, nodeId: 'x' })
        await tx.query('update events set id = id + 5 where id = (select max(id) from events)')
      })
      expect((await keptTurn()).nodes[0]).not.toBe(whole.nodes[0])
    })
  })
}

/** PostgreSQL orders text by its own rules: where the rows stand says nothing. */
function inOrder(world: StoredWorld): StoredWorld {
  const { nodes, models, replicas, facts } = world
  const by =
    <T>(keyOf: (row: T) => string) =>
    (a: T, b: T): number =>
      keyOf(a) < keyOf(b) ? -1 : 1
  return {
    ...world,
    nodes: nodes.toSorted(by(({ id }) => id)),
    models: models.toSorted(by(({ name }) => name)),
    rules: world.rules.toSorted(by(({ modelName }) => modelName)),
    replicas: replicas.toSorted(by(({ id }) => id)),
    facts: facts.toSorted(by(({ modelName }) => modelName)),
  }
}
