import { afterEach, describe, expect, test } from 'vitest'
import type { RuleView } from '../../api/admin/rule-schemas.ts'
import type { HeartbeatMessage } from '../../api/bus/messages.ts'
import { listEvents, newestEventId, type EventRow } from '../../store/nouns/events.ts'
import { listReplicas } from '../../store/nouns/replicas.ts'
import { aDevice, anEngine, aReport } from '../../../test/support/builders.ts'
import { anApplicant, type Applicant } from '../../../test/support/control/control-scene.ts'
import { runControl, type RunningControl } from '../../../test/support/control/running-control.ts'
import { until } from '../../../test/support/until.ts'
import { sceneOn, type OpenStore } from './control-suite.ts'

const RULES = '/api/nodes/scheduling'
const GIB = 2 ** 30
/** One card of 24 GiB, and an engine that needs one. */
const CARD: Partial<HeartbeatMessage> = {
  devices: [aDevice({ total_vram: 24 * GIB, available_vram: 24 * GIB })],
  engines: [anEngine({ uses: { device: 'gpu' } })],
}

/** A rule without room, and all that ends its wait; run on each kind of store. */
export function describeBreaker(storeName: string, openStore: OpenStore): void {
  describe(`a rule that finds no room on ${storeName}`, () => {
    let running: RunningControl | undefined
    let approved = true
    const onChange = (): void => running?.control.wake()
    const scene = sceneOn(openStore, { approves: () => approved, onChange })
    // Before the store is closed; hooks run in the reverse order of their registration.
    afterEach(async () => {
      await running?.control.dispose()
      running = undefined
      approved = true
    })

    const rule = async () => (await scene().admin<RuleView>('GET', `${RULES}/m`)).body
    const save = (body: object) => scene().admin('POST', RULES, { model_name: 'm', min_replicas: 1, ...body })
    const addModel = (name: string, fields: object = {}) =>
      scene().admin('POST', '/api/models', { name, engine: 'sim', ...fields })
    const onNode = (method: string, { nodeId }: Applicant, path: string, body?: unknown) =>
      scene().admin(method, `/api/nodes/${nodeId}/${path}`, body)

    async function aHeardNode(facts: Partial<HeartbeatMessage> = {}): Promise<Applicant> {
      const who = anApplicant('thor')
      await scene().register(who)
      await scene().heartbeat(who, [], facts)
      return who
    }

    /** Passes that are each counted. */
    async function passes(count: number): Promise<void> {
      for (let i = 0; i < count; i += 1) {
        scene().ticks.clear()
        await scene().turn()
      }
    }

    async function eventsAfter(id: number): Promise<EventRow[]> {
      return listEvents(scene().db, id, 1000)
    }

    /** Lets control run, does it, and looks at what followed: the replica was placed long before the next period. */
    async function expectPlacedBy(act: (beat: RunningControl['beat']) => unknown): Promise<EventRow[]> {
      expect(await rule()).toMatchObject({ state: 'cooling', unsatisfiable_ticks: 3 })
      running = await runControl(scene())
      const before = await newestEventId(scene().db)
      await act(running.beat)
      const placement = async () =>
        (await eventsAfter(before)).find(({ action, model_name: of }) => action === 'replica.placed' && of === 'm')
      await until(async () => (await placement()) !== undefined)
      const events = await eventsAfter(before)
      expect((await placement())!.at - events[0]!.at).toBeLessThan(1000)
      expect(await rule()).toMatchObject({
        unsatisfiable_until: null,
        unsatisfiable_ticks: 0,
        last_decision: null,
        replicas: 1,
      })
      return events
    }

    const actions = (events: readonly EventRow[]): string[] => events.map(({ action }) => action)

    test('three times is called unsatisfiable for five minutes, and it is told once and why', async () => {
      await scene().wants(2, { tier: 'fast' })
      await aHeardNode()
      await passes(2)
      expect(await rule()).toMatchObject({ state: 'unmet', unsatisfiable_ticks: 2, unsatisfiable_until: null })
      const nowMs = Date.now()
      await passes(5)
      const { unsatisfiable_until: untilMs, last_decision: decision, ...tripped } = await rule()
      const [help] = / What would help: .*$/.exec(decision!.reason)!
      expect(tripped).toMatchObject({
        state: 'cooling',
        unsatisfiable_ticks: 3,
        reason: `The rule of m selects tier=fast, and no node has that label. Nodes have no labels of their own.${help}`,
      })
      expect(untilMs! - nowMs).toBeGreaterThan(299_000)
      expect(decision).toMatchObject({
        missing: 2,
        refusals: [{ node_name: 'thor', text: 'needs the label tier=fast, has no label tier' }],
        more: 0,
      })
      const told = (await eventsAfter(0)).filter(({ action }) => action.startsWith('rule.'))
      expect(told).toMatchObject([{ action: 'rule.unsatisfiable', actor: 'control', data: { missing: 2 } }])
      expect(told[0]!.reason).toContain('needs the label tier=fast')
      expect(await listReplicas(scene().db)).toEqual([])
    })

    test('is tried again when it may be, without telling it again', async () => {
      await scene().wants(1)
      await passes(3)
      await scene().db.transaction((tx) => tx.query('update rules set unsatisfiable_until = 1'))
      await passes(1)
      expect((await rule()).unsatisfiable_until).toBeGreaterThan(Date.now())
      expect(actions(await eventsAfter(0)).filter((action) => action === 'rule.unsatisfiable')).toHaveLength(1)
    })

    test('is met when a node joins', async () => {
      await scene().wants(1)
      await passes(3)
      const events = await expectPlacedBy(async (beat) => {
        const who = anApplicant('new')
        await scene().register(who)
        beat(who)
      })
      expect(actions(events)).toEqual(expect.arrayContaining(['node.registered', 'node.online', 'rule.satisfiable']))
    })

    test('is met when a node is approved', async () => {
      approved = false
      await scene().wants(1)
      const who = anApplicant('thor')
      await scene().register(who)
      await passes(3)
      const events = await expectPlacedBy(async (beat) => {
        await onNode('POST', who, 'approve')
        beat(who)
      })
      expect(actions(events)).toEqual(expect.arrayContaining(['node.approved', 'rule.satisfiable']))
    })

    test('is met when a node is resumed', async () => {
      await scene().wants(1)
      const thor = await aHeardNode()
      await onNode('POST', thor, 'drain')
      await passes(3)
      expect(actions(await expectPlacedBy(() => onNode('POST', thor, 'resume')))).toContain('rule.satisfiable')
    })

    test('is met when a silent node is heard again', async () => {
      await scene().wants(1)
      const thor = await aHeardNode()
      await scene().silentFor(61_000, thor)
      await passes(3)
      expect(actions(await expectPlacedBy((beat) => beat(thor)))).toContain('rule.satisfiable')
    })

    test('is met when a node is labelled', async () => {
      await scene().wants(1, { tier: 'fast' })
      const thor = await aHeardNode()
      await passes(3)
      const events = await expectPlacedBy(() => onNode('PATCH', thor, 'labels', { tier: 'fast' }))
      expect(actions(events)).toContain('rule.satisfiable')
    })

    test('is met when a node has more slots', async () => {
      await scene().wants(1)
      const thor = await aHeardNode()
      await scene().turn()
      const [replica] = await listReplicas(scene().db)
      await scene().heartbeat(thor, [aReport({ id: replica!.id, generation: replica!.generation })])
      await save({ min_replicas: 2 })
      await passes(3)
      running = await runControl(scene())
      const before = await newestEventId(scene().db)
      await onNode('PUT', thor, 'max-replicas-per-model', { value: 2 })
      await until(async () => actions(await eventsAfter(before)).includes('replica.placed'))
      const events = await eventsAfter(before)
      expect(actions(events)).toEqual(['node.slots_set', 'replica.placed', 'rule.satisfiable'])
      expect(events[1]!.at - events[0]!.at).toBeLessThan(1000)
    })

    test('is met when a node has a larger budget', async () => {
      const thor = await aHeardNode(CARD)
      await onNode('PUT', thor, 'vram-budget', { value: '8GiB' })
      await addModel('m', { memory: { vram: '16GiB' } })
      await save({})
      await passes(3)
      expect((await rule()).reason).toContain('needs 16.0 GiB of its VRAM budget, 8.0 GiB are free')
      const events = await expectPlacedBy(() => onNode('PUT', thor, 'vram-budget', { value: '20GiB' }))
      expect(actions(events)).toContain('rule.satisfiable')
    })

    test('is met when it asks for less', async () => {
      await scene().wants(1, { tier: 'fast' })
      await aHeardNode()
      await passes(3)
      expect(actions(await expectPlacedBy(() => save({ node_selector: {} })))).toContain('rule.saved')
    })

    test('is met when its model needs less', async () => {
      await aHeardNode(CARD)
      await addModel('m', { memory: { vram: '40GiB' } })
      await save({})
      await passes(3)
      const change = { engine: 'sim', memory: { vram: '16GiB' } }
      const events = await expectPlacedBy(() => scene().admin('PUT', '/api/models/m', change))
      expect(actions(events)).toContain('rule.satisfiable')
    })

    test('is met when another has gone', async () => {
      const thor = await aHeardNode(CARD)
      for (const name of ['m', 'other']) await addModel(name, { memory: { vram: '16GiB' } })
      await scene().admin('POST', RULES, { model_name: 'other', min_replicas: 1 })
      await scene().turn()
      const [other] = await listReplicas(scene().db)
      const { id, generation } = other!
      await scene().heartbeat(thor, [aReport({ id, generation, model_name: 'other' })], CARD)
      await save({})
      await passes(3)
      const events = await expectPlacedBy(async (beat) => {
        await scene().admin('DELETE', '/api/models/other')
        await until(async () => (await listReplicas(scene().db))[0]?.state === 'draining')
        beat(thor, CARD)
      })
      expect(actions(events)).toContain('rule.satisfiable')
    })

    test('is not counted while its model is not defined, and nothing is sent', async () => {
      await aHeardNode()
      await scene().admin('POST', RULES, { model_name: 'm', min_replicas: 1 })
      await passes(4)
      expect(await rule()).toMatchObject({ state: 'unmet', unsatisfiable_ticks: 0 })
      expect((await rule()).reason).toContain('define the model or load it once')
      expect(scene().worker.asked).toEqual([])
    })
  })
}
