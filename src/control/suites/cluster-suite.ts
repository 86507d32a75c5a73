import { describe, expect, test } from 'vitest'
import type { ClusterView } from '../../api/admin/cluster-schemas.ts'
import { listReplicas } from '../../store/nouns/replicas.ts'
import { aReport } from '../../../test/support/builders.ts'
import { anApplicant, type Applicant } from '../../../test/support/control/control-scene.ts'
import { sceneOn, type OpenStore } from './control-suite.ts'

/** The whole cluster in one answer; run on each kind of store. */
export function describeCluster(storeName: string, openStore: OpenStore): void {
  describe(`the cluster as a whole on ${storeName}`, () => {
    const scene = sceneOn(openStore)
    const cluster = async () => (await scene().admin<ClusterView>('GET', '/api/cluster')).body

    async function aHeardNode(name: string): Promise<Applicant> {
      const who = anApplicant(name)
      await scene().register(who)
      await scene().admin('POST', `/api/nodes/${who.nodeId}/approve`)
      await scene().heartbeat(who)
      return who
    }

    test('is empty at first', async () => {
      expect(await cluster()).toEqual({ nodes: [], models: [], problems: [] })
    })

    test('shows nodes and models, with what is wanted and what serves, and nothing wrong where nothing is', async () => {
      const thor = await aHeardNode('thor')
      await scene().wants(1)
      await scene().turn()
      const [replica] = await listReplicas(scene().db)
      const { id, generation } = replica!
      await scene().heartbeat(thor, [aReport({ id, generation, in_flight: 3 })])
      expect(await cluster()).toMatchObject({
        nodes: [{ name: 'thor', status: 'healthy', replica_count: 1, in_flight_count: 3, total_vram: 0 }],
        models: [{ name: 'm', state: 'ready', wanted: 1, ready: 1, replicas: 1, in_flight: 3 }],
        problems: [],
      })
    })

    test('tells of a rule that is not met with the first thing that would help', async () => {
      await aHeardNode('thor')
      await scene().wants(1, { tier: 'fast' })
      expect((await cluster()).problems).toEqual([
        {
          kind: 'rule',
          severity: 'error',
          node_id: null,
          node_name: null,
          key: null,
          model_name: 'm',
          text: expect.stringContaining('0 of 1 replicas serve: '),
          advice: 'label thor tier=fast',
        },
      ])
    })

    test('tells of a rule without a model', async () => {
      await scene().admin('POST', '/api/nodes/scheduling', { model_name: 'x', min_replicas: 1 })
      expect(await cluster()).toMatchObject({
        models: [{ name: 'x', state: 'undefined', wanted: 1, ready: 0 }],
        problems: [{ kind: 'rule', text: expect.stringContaining('There is no model "x"'), advice: null }],
      })
    })

    test('tells of a replica that failed by how it ended and what it said last, once', async () => {
      const thor = await aHeardNode('thor')
      await scene().wants(1)
      await scene().turn()
      const [replica] = await listReplicas(scene().db)
      const { id, generation } = replica!
      await scene().heartbeat(thor, [
        aReport({ id, generation, state: 'failed', error: 'It ended. Its last lines:\nload\nno memory' }),
      ])
      const where = { node_id: thor.nodeId, node_name: 'thor', key: 'm#0', model_name: 'm' }
      expect((await cluster()).problems).toContainEqual(
        expect.objectContaining({ kind: 'replica', ...where, text: 'm#0 failed: It ended. It said last: no memory' }),
      )
      expect((await cluster()).problems).toContainEqual(
        expect.objectContaining({ kind: 'rule', text: '0 of 1 replicas serve: m#0 failed' }),
      )
    })

    test('tells of a silent node and of one that waits as warnings, after what is really wrong', async () => {
      const thor = await aHeardNode('thor')
      await aHeardNode('loki')
      const waiting = anApplicant('new')
      await scene().register(waiting)
      await scene().wants(1, { tier: 'fast' })
      await scene().silentFor(20_000, thor)
      await scene().turn()
      expect((await cluster()).problems).toMatchObject([
        { kind: 'rule', severity: 'error' },
        { kind: 'node', severity: 'warning', node_id: thor.nodeId, text: 'has missed several heartbeats' },
        { kind: 'approval', severity: 'warning', node_id: waiting.nodeId, advice: 'approve new' },
      ])
    })

    test('tells of nodes that went silent together', async () => {
      const nodes = [await aHeardNode('thor'), await aHeardNode('loki')]
      await scene().silentFor(100_000, ...nodes)
      await scene().turn()
      const { problems } = await cluster()
      expect(problems.map(({ kind, severity }) => `${kind} ${severity}`)).toEqual([
        'frozen error',
        'node error',
        'node error',
      ])
      expect(problems[0]!.text).toContain('2 nodes went silent together')
    })

    test('a node that said goodbye is no trouble', async () => {
      const thor = await aHeardNode('thor')
      await scene().signed(thor, 'POST', `/api/node/${thor.nodeId}/deregister`)
      expect(await cluster()).toMatchObject({ nodes: [{ status: 'offline' }], problems: [] })
    })
  })
}
