import { describe, expect, test } from 'vitest'
import type { Applied, DocumentView, PlanView } from '../../api/admin/plan-schemas.ts'
import { listEvents } from '../../store/nouns/events.ts'
import { listModels } from '../../store/nouns/models.ts'
import { listReplicas } from '../../store/nouns/replicas.ts'
import { listRules, saveRule } from '../../store/nouns/rules.ts'
import { aReport, aRule } from '../../../test/support/builders.ts'
import { anApplicant, type Applicant } from '../../../test/support/control/control-scene.ts'
import { sceneOn, type OpenStore } from './control-suite.ts'

interface Refusal {
  error: { code: string; message: string; param: string | null }
  plan?: PlanView
}

/** Documents that are planned, applied and exported; run on each kind of store. */
export function describePlans(storeName: string, openStore: OpenStore): void {
  describe(`documents on ${storeName}`, () => {
    const scene = sceneOn(openStore, { autoApprove: true })
    const plan = async (document: object, options: object = {}) =>
      (await scene().admin<PlanView>('POST', '/api/plan', { document, ...options })).body
    const apply = (document: object, options: object = {}) =>
      scene().admin<Applied & Refusal>('POST', '/api/apply', { document, ...options })
    const exported = async () => (await scene().admin<DocumentView>('GET', '/api/export')).body
    const actions = async (): Promise<string[]> =>
      (await listEvents(scene().db, 0, 1000)).filter(({ actor }) => actor === 'admin').map(({ action }) => action)

    async function aHeardNode(name: string, fields = {}): Promise<Applicant> {
      const who = anApplicant(name)
      await scene().register(who, fields)
      await scene().heartbeat(who)
      return who
    }

    const document = {
      models: [{ name: 'qwen', engine: 'sim', options: { context: 4096 } }],
      rules: [{ model_name: 'qwen', min_replicas: 1, node_selector: { tier: 'fast' } }],
      nodes: [{ name: 'thor', labels: { tier: 'fast' }, max_replicas_per_model: 2, vram_budget: '80%' }],
    }

    test('a plan tells what would change and what would follow, and changes nothing', async () => {
      await aHeardNode('thor')
      await aHeardNode('loki')
      const before = { changes: scene().asked.changes, document: await exported() }
      const made = await plan(document)
      expect(made.changes).toMatchObject([
        { noun: 'model', name: 'qwen', action: 'add', revision: { before: null } },
        { noun: 'rule', name: 'qwen', action: 'add' },
        { noun: 'node', name: 'thor', action: 'add' },
      ])
      expect(made.changes[2]!.fields).toEqual([
        { field: 'labels.tier', before: null, after: 'fast' },
        { field: 'max_replicas_per_model', before: null, after: 2 },
        { field: 'vram_budget', before: null, after: '80%' },
      ])
      expect(made.steps).toMatchObject([{ kind: 'start', key: 'qwen#0', node_name: 'thor', bytes_to_move: 0 }])
      expect(made).toMatchObject({ impossible: [], absent_nodes: [], frozen_nodes: [], is_complete: true })
      expect({ changes: scene().asked.changes, document: await exported() }).toEqual(before)
    })

    test('what was planned is applied as one, with the events of single edits, and then there is nothing to change', async () => {
      await aHeardNode('thor')
      const { revision, changes } = await plan(document)
      const woken = scene().asked.changes
      const { status, body } = await apply(document, { revision })
      expect({ status, changes: body.changes }).toEqual({ status: 200, changes })
      expect(await actions()).toEqual([
        'model.saved',
        'rule.saved',
        'node.labelled',
        'node.slots_set',
        'node.budget_set',
      ])
      expect(scene().asked.changes).toBe(woken + 1)
      const again = await plan(document)
      expect(again).toMatchObject({ revision: body.revision, changes: [] })
      expect((await apply(document, { revision: body.revision })).body).toMatchObject({ changes: [] })
      expect(scene().asked.changes).toBe(woken + 1)
      const { plan: turned } = await scene().turn()
      expect(turned.steps).toMatchObject([{ kind: 'reserve', modelName: 'qwen' }])
    })

    test('a plan that no longer fits is not applied: the new one comes with the refusal', async () => {
      const thor = await aHeardNode('thor')
      const { revision } = await plan(document)
      await scene().admin('PUT', `/api/nodes/${thor.nodeId}/labels`, { tier: 'slow' })
      const { status, body } = await apply(document, { revision })
      expect({ status, code: body.error.code }).toEqual({ status: 409, code: 'conflict' })
      expect(body.plan!.revision).not.toBe(revision)
      const field = { field: 'labels.tier', before: 'slow', after: 'fast' }
      expect(body.plan!.changes[2]).toMatchObject({ action: 'change', fields: [field, {}, {}] })
      expect(await listModels(scene().db)).toEqual([])
      expect((await apply(document, { revision: body.plan!.revision })).status).toBe(200)
    })

    test('a plan lasts while heartbeats come and replicas move, and no longer when a node joins', async () => {
      const thor = await aHeardNode('thor')
      const { revision } = await plan(document)
      await scene().wants(1)
      const withModel = (await plan(document)).revision
      expect(withModel).not.toBe(revision)
      await scene().turn()
      await scene().heartbeat(thor)
      expect((await plan(document)).revision).toBe(withModel)
      await aHeardNode('loki')
      expect((await apply(document, { revision: withModel })).status).toBe(409)
    })

    test('what is not listed stays, and goes when that is asked for', async () => {
      const thor = await aHeardNode('thor')
      await apply(document)
      await scene().wants(1)
      await scene().admin('POST', `/api/nodes/${thor.nodeId}/drain`)
      expect((await plan({})).changes).toEqual([])
      const { body } = await apply({ models: [{ name: 'm', engine: 'sim' }] }, { prune: true })
      expect(body.changes.map(({ noun, name, action }) => `${noun} ${name} ${action}`)).toEqual([
        'model qwen remove',
        'rule m remove',
        'rule qwen remove',
        'node thor change',
      ])
      // A drain is not a setting.
      expect(await exported()).toEqual({
        models: [{ name: 'm', engine: 'sim' }],
        rules: [],
        nodes: [{ name: 'thor', drain: true }],
      })
      await apply({ nodes: [{ name: 'thor', drain: false }] })
      expect((await exported()).nodes).toEqual([])
      expect((await actions()).slice(-6)).toEqual([
        'rule.deleted',
        'rule.deleted',
        'node.labelled',
        'node.slots_reset',
        'node.budget_reset',
        'node.resumed',
      ])
    })

    test('rules of the configuration are not pruned, and a change of one is warned of', async () => {
      await scene().db.transaction((tx) => saveRule(tx, aRule({ modelName: 'c', source: 'config' })))
      expect((await plan({}, { prune: true })).changes).toEqual([])
      const { changes } = await plan({ rules: [{ model_name: 'c', min_replicas: 2 }] })
      expect(changes).toMatchObject([{ action: 'change', warning: expect.stringContaining('next start') }])
      await apply({ rules: [{ model_name: 'c', min_replicas: 2 }] })
      expect(await listRules(scene().db)).toMatchObject([{ min_replicas: 2, source: 'config' }])
    })

    test('another revision restarts replicas; what only says where they may go does not', async () => {
      const thor = await aHeardNode('thor')
      await apply(document)
      await scene().turn()
      const [replica] = await listReplicas(scene().db)
      await scene().heartbeat(thor, [aReport({ id: replica!.id, generation: replica!.generation, model_name: 'qwen' })])
      const moved = { ...document, models: [{ ...document.models[0], memory: { ram: '1GiB' } }] }
      expect(await plan(moved)).toMatchObject({
        changes: [{ fields: [{ field: 'memory', before: null, after: { vram: 0, ram: 2 ** 30 } }] }],
        steps: [],
      })
      const changed = { ...document, models: [{ ...document.models[0], options: { context: 8192 } }] }
      const made = await plan(changed)
      expect(made.changes).toMatchObject([{ fields: [{ field: 'options.context', before: 4096, after: 8192 }] }])
      const kinds = made.steps.map(({ kind, why }) => `${kind} ${why ?? ''}`)
      expect(kinds.toSorted()).toEqual(['start ', 'stop old revision'])
      await apply(changed)
      const saved = (await listEvents(scene().db, 0, 1000)).findLast(({ action }) => action === 'model.saved')
      expect(saved!.data).toMatchObject({ replaced: 1 })
    })

    test('an export changes nothing where it comes from, pruned or not', async () => {
      await aHeardNode('thor')
      await aHeardNode('локи 🚢')
      const rules = [
        { model_name: 'qwen', min_replicas: 1, max_replicas: 3, node_selector: { zone: ['a', 'b'], '!spot': '' } },
        { model_name: 'spread', spread_all: true, route_policy: 'session' },
        { model_name: 'idle', scale_to_zero_after_s: 90 },
      ]
      const models = [
        { name: 'qwen', engine: 'sim', options: { a: '7', b: 7, c: true }, memory: { vram: '12GiB', ram: 123 } },
        { name: 'org/m', engine: 'llama-server', source: 'hf:org/repo/m.gguf', anti_affinity: 'large' },
      ]
      const nodes = [{ name: 'локи 🚢', labels: { tier: 'yes' }, vram_budget: 2_000_000, drain: true }]
      await apply({ models, rules, nodes })
      const written = await exported()
      expect(written.models.find(({ name }) => name === 'qwen')!.memory).toEqual({ vram: '12GiB', ram: 123 })
      for (const prune of [false, true]) expect((await plan(written, { prune })).changes).toEqual([])
    })

    test('what stays impossible is told with every node’s reason and what would help', async () => {
      await aHeardNode('thor')
      const { impossible } = await plan({
        models: [{ name: 'big', engine: 'sim', memory: { ram: '1TiB' } }],
        rules: [{ model_name: 'big', min_replicas: 2 }],
      })
      expect(impossible).toMatchObject([
        {
          model_name: 'big',
          missing: 2,
          is_new: true,
          refusals: [{ node_name: 'thor', filter: 'memory', needed: 2 ** 40, where: 'ram' }],
          more_refusals: 0,
          advice: [expect.stringContaining('add a node')],
        },
      ])
      await scene().wants(3)
      expect((await plan({})).impossible).toMatchObject([{ model_name: 'm', missing: 2, is_new: false }])
    })

    test('nodes that are not there are told of, and nothing is set on them', async () => {
      const wanted = { nodes: [{ name: 'odin', labels: { a: 'b' } }] }
      expect(await plan(wanted)).toMatchObject({ changes: [], absent_nodes: ['odin'] })
      expect((await apply(wanted)).body).toMatchObject({ changes: [], absent_nodes: ['odin'] })
    })

    test.each([
      [{ models: [{ name: 'm', engine: 'sim', memory: { ram: 'much' } }] }, 'document.models.0.memory.ram'],
      [{ models: [{ name: 'm', engine: 'sim', colour: 'red' }] }, 'document.models.0'],
      [{ nodes: [{ name: 'ag', max_replicas_per_model: 2 }] }, 'document.nodes.0.max_replicas_per_model'],
      [{ nodes: [{ name: 'ag' }, { name: 'ag' }] }, 'document.nodes.1.name'],
    ])('what makes no sense is refused by its place, and nothing is applied: %j', async (part, param) => {
      await scene().register(anApplicant('ag'), { node_type: 'agent' })
      const wrong = { models: [{ name: 'fine', engine: 'sim' }], ...part }
      for (const path of ['/api/plan', '/api/apply']) {
        const { status, body } = await scene().admin<Refusal>('POST', path, { document: wrong })
        expect({ status, param: body.error.param }).toEqual({ status: 400, param })
      }
      expect(await listModels(scene().db)).toEqual([])
    })

    test('of two calls that apply the same plan at once one is refused as outdated', async () => {
      const { revision } = await plan({})
      const models = ['a', 'b', 'c'].map((name) => ({ name, engine: 'sim' }))
      const answers = await Promise.all(models.map((model) => apply({ models: [model] }, { revision })))
      expect(answers.map(({ status }) => String(status)).toSorted()).toEqual(['200', '409', '409'])
      expect(await listModels(scene().db)).toHaveLength(1)
    })
  })
}
