import { describe, expect, test } from 'vitest'
import type { DocumentView, PlanView } from '../../api/admin/plan-schemas.ts'
import { listReplicas } from '../../store/nouns/replicas.ts'
import { anApplicant, type Applicant } from '../../../test/support/control/control-scene.ts'
import { sceneOn, type OpenStore } from './control-suite.ts'

/** Imagined changes and their consequences; run on each kind of store. */
export function describeWhatIf(storeName: string, openStore: OpenStore): void {
  describe(`what if, on ${storeName}`, () => {
    const scene = sceneOn(openStore, { autoApprove: true })
    const exported = async () => (await scene().admin<DocumentView>('GET', '/api/export')).body

    async function aHeardNode(name: string): Promise<Applicant> {
      const who = anApplicant(name)
      await scene().register(who)
      await scene().heartbeat(who)
      return who
    }

    const whatIf = (body: object) => scene().admin<PlanView>('POST', '/api/whatif', body)

    test('a machine is lost, and another is bought', async () => {
      const thor = await aHeardNode('thor')
      await scene().wants(1)
      await scene().turn()
      const before = await exported()
      const { body } = await whatIf({ node_lost: ['thor'] })
      expect(body).toMatchObject({
        changes: [{ noun: 'machine', name: 'thor', action: 'remove' }],
        steps: [{ kind: 'lost', key: 'm#0', node_name: 'thor' }],
        impossible: [{ model_name: 'm', missing: 1, is_new: true }],
      })
      const bought = await whatIf({
        node_lost: ['thor'],
        add_nodes: [{ spec: '2x24GB' }, { spec: 'cpu', name: 'x' }],
      })
      expect(bought.body).toMatchObject({
        changes: [{ name: 'thor' }, { name: 'new-1', action: 'add' }, { name: 'x' }],
        steps: [{ kind: 'lost' }, { kind: 'start', key: 'm#0' }],
        impossible: [],
      })
      expect(await exported()).toEqual(before)
      expect((await listReplicas(scene().db))[0]!.nodeId).toBe(thor.nodeId)
    })

    test('a rule asks for more, up to a higher maximum than it has', async () => {
      await aHeardNode('thor')
      await aHeardNode('loki')
      await scene().wants(1)
      await scene().admin('POST', '/api/nodes/scheduling', { model_name: 'm', min_replicas: 1, max_replicas: 1 })
      const { body } = await whatIf({ rules: [{ model_name: 'm', min_replicas: 3 }] })
      expect(body.changes).toMatchObject([
        {
          noun: 'rule',
          fields: [
            { field: 'min_replicas', before: 1, after: 3 },
            { field: 'max_replicas', after: 3 },
          ],
        },
      ])
      expect(body.steps.filter(({ kind }) => kind === 'start')).toHaveLength(2)
      expect(body.impossible).toMatchObject([{ missing: 1 }])
    })

    test.each([
      [{ node_lost: ['thorr'] }, 'node_lost.0', 'there is no node "thorr"; did you mean thor?'],
      [{ add_nodes: [{ spec: 'big' }] }, 'add_nodes.0.spec', '"big" is no machine: expected GPUs such as'],
      [{ add_nodes: [{ spec: 'cpu', name: 'thor' }] }, 'add_nodes.0.name', 'there is a node "thor" already'],
      [{ rules: [{ model_name: 'mm', min_replicas: 1 }] }, 'rules.0.model_name', 'there is no model "mm"'],
      [{ rules: [{ model_name: 'm', min_replicas: 2, max_replicas: 1 }] }, 'rules.0.max_replicas', 'at least min'],
    ])('%j is refused by its place', async (body, param, message) => {
      await aHeardNode('thor')
      await scene().wants(1)
      expect(await whatIf(body)).toMatchObject({
        status: 400,
        body: { error: { param, message: expect.stringContaining(message) } },
      })
    })
  })
}
