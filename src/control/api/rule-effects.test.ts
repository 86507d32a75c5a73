import { describe, expect, test } from 'vitest'
import type { PlanView } from '../../api/admin/plan-schemas.ts'
import type { RuleView } from '../../api/admin/rule-schemas.ts'
import { listReplicas } from '../../store/nouns/replicas.ts'
import { aStage, type Stage } from '../../../test/support/control/admin-stage.ts'
import { anEngine, aReport } from '../../../test/support/builders.ts'

const RULES = '/api/nodes/scheduling'

/** The model m serves on thor, which has the label tier=gold; loki may be approved and has none. */
async function serving({ loki: isThere = false } = {}): Promise<Stage> {
  const stage = await aStage()
  const { scene, thor, loki } = stage
  const [replica] = await listReplicas(scene.db)
  await scene.heartbeat(thor, [aReport({ id: replica!.id, generation: replica!.generation, state: 'ready' })])
  if (isThere) {
    await scene.admin('POST', `/api/nodes/${loki.nodeId}/approve`)
    await scene.heartbeat(loki)
  }
  return stage
}

const saveRule = ({ scene }: Stage, node_selector: object) =>
  scene.admin<RuleView>('POST', RULES, { model_name: 'm', min_replicas: 1, node_selector })

describe('a rule that takes away what serves', () => {
  test('is answered with a warning that names the labels that there are', async () => {
    const { body } = await saveRule(await serving(), { tier: 'fast' })
    expect(body.warning).toBe(
      'm is left without a replica that serves: no node can take one, so its requests fail. ' +
        'The rule of m selects tier=fast, and no node has that label. Nodes have tier=gold.',
    )
    expect(body.reason).toContain('no node has that label. Nodes have tier=gold.')
  })

  test('a label that is misspelt is told with those that are near', async () => {
    const { body } = await saveRule(await serving(), { teir: 'gold', rack: '7' })
    expect(body.warning).toContain('and no node matches all of it. Nodes have rack=7, tier=gold.')
  })

  test('is none where another node can take its place, or where its nodes match', async () => {
    expect((await saveRule(await serving({ loki: true }), { '!tier': '' })).body.warning).toBeNull()
    expect((await saveRule(await serving(), { tier: 'gold' })).body.warning).toBeNull()
    expect((await saveRule(await serving(), {})).body.warning).toBeNull()
  })

  test('is foreseen by whatif, with nothing changed', async () => {
    const { scene } = await serving()
    const rules = [{ model_name: 'm', node_selector: { tier: 'fast' } }]
    const { body } = await scene.admin<PlanView>('POST', '/api/whatif', { rules })
    expect(body.left_without).toEqual([{ model_name: 'm', is_replaced: false }])
    expect(body.warnings).toHaveLength(2)
    expect((await scene.admin<RuleView>('GET', `${RULES}/m`)).body.node_selector).toEqual({})
  })
})

describe('a drain', () => {
  test.each([
    [false, false, 'm is left without a replica that serves'],
    [true, true, 'm loses its last replica: its requests wait until another one is ready.'],
  ])('names what loses its last replica (another node: %s)', async (loki, isReplaced, text) => {
    const { scene } = await serving({ loki })
    const { body } = await scene.admin<PlanView>('POST', '/api/whatif', { drain: ['thor'] })
    expect(body.left_without).toEqual([{ model_name: 'm', is_replaced: isReplaced }])
    expect(body.warnings?.[0]).toContain(text)
    expect(body.changes).toMatchObject([{ noun: 'node', name: 'thor', fields: [{ field: 'drain', after: true }] }])
    expect((await scene.admin('GET', '/api/export')).body).not.toMatchObject({ nodes: [{ drain: true }] })
  })
})

test('a document says what no node can run as things are, and is applied all the same', async () => {
  const { scene, thor } = await aStage()
  await scene.heartbeat(thor, [], { engines: [anEngine({ option_names: ['load_ms'] })] })
  const document = {
    models: [
      { name: 'a', engine: 'simm' },
      { name: 'b', engine: 'sim', options: { lod_ms: 1 } },
    ],
    rules: [{ model_name: 'a', min_replicas: 1, node_selector: { tier: 'fast' } }],
  }
  const warnings = [
    'a: No node knows the engine "simm". Did you mean sim?',
    'b: The engine sim has no option "lod_ms". Did you mean load_ms?',
    expect.stringContaining('Nodes have tier=gold.'),
  ]
  expect((await scene.admin<PlanView>('POST', '/api/plan', { document })).body.warnings).toEqual(warnings)
  expect((await scene.admin<PlanView>('POST', '/api/apply', { document })).body.warnings).toEqual(warnings)
})
