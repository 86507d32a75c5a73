import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { REFUSAL_HEADER } from '../../api/data-port.ts'
import type { Database } from '../../store/sql.ts'
import { listEvents } from '../../store/nouns/events.ts'
import { LeaseLostError } from '../../store/nouns/leases.ts'
import { listReplicas } from '../../store/nouns/replicas.ts'
import { aReport } from '../../../test/support/builders.ts'
import { anApplicant, ControlScene, lead, type Applicant } from '../../../test/support/control/control-scene.ts'
import { serve } from '../../../test/support/http/http.ts'
import { dataKeyOf } from '../workers/data-key.ts'
import { seedFirstStart } from '../changes/first-start.ts'
import { findAnswering } from '../workers/probe-nodes.ts'

export type OpenStore = () => Promise<{ db: Database; drop: () => Promise<void> }>

/** A scene for each test, on a store with nothing in it. */
export function sceneOn(
  openStore: OpenStore,
  options: Parameters<typeof ControlScene.start>[1] = {},
): () => ControlScene {
  let scene: ControlScene
  let drop: () => Promise<void>
  beforeEach(async () => {
    const store = await openStore()
    drop = store.drop
    scene = await ControlScene.start(store.db, options)
  })
  afterEach(async () => {
    await scene.end()
    await drop()
  })
  return () => scene
}

/** Control's decisions on a real store; run on each kind of store. */
export function describeControl(storeName: string, openStore: OpenStore): void {
  describe(`control on ${storeName}`, () => {
    const scene = sceneOn(openStore, { autoApprove: true })
    const actions = async (): Promise<string[]> => (await listEvents(scene().db, 0, 1000)).map(({ action }) => action)

    /** An approved node that has been heard, a model and a rule that wants one replica of it. */
    async function aCluster(...names: string[]): Promise<Applicant[]> {
      await scene().wants(1)
      const nodes = (names.length > 0 ? names : ['thor']).map((name) => anApplicant(name))
      for (const node of nodes) {
        await scene().register(node)
        await scene().heartbeat(node)
      }
      return nodes
    }

    describe('a turn', () => {
      test('reserves what a rule asks for, once', async () => {
        const [node] = await aCluster()
        const { plan } = await scene().turn()
        expect(plan.steps).toMatchObject([{ kind: 'reserve', modelName: 'm', nodeId: node!.nodeId }])
        expect((await scene().turn()).plan.steps).toEqual([])
        const row = { nodeId: node!.nodeId, state: 'reserved', replicaIndex: 0 }
        expect(await listReplicas(scene().db)).toMatchObject([row])
      })

      test('an old leader commits nothing', async () => {
        await aCluster()
        const { db, lease } = scene()
        await db.transaction((tx) => tx.query('update leases set expires_at = 0'))
        scene().lease = await lead(db, 'another')
        await expect(scene().turn(lease)).rejects.toThrow(LeaseLostError)
        expect(await listReplicas(db)).toEqual([])
      })

      test('silence is judged by the clock of the store: first unreachable, then offline and replaced', async () => {
        const [node] = await aCluster()
        await scene().turn()
        await scene().silentFor(20_000, node!)
        expect((await scene().turn()).silent).toMatchObject([{ name: 'thor', liveness: 'unreachable' }])
        expect((await scene().turn()).silent).toEqual([])
        expect(await listReplicas(scene().db)).toHaveLength(1)
        await scene().silentFor(61_000, node!)
        expect((await scene().turn()).plan.steps).toMatchObject([{ kind: 'forget', why: 'node offline' }])
        expect(await listReplicas(scene().db)).toEqual([])
        const lost = (await listEvents(scene().db, 0, 1000)).filter(({ action }) => action === 'replica.lost')
        expect(lost).toMatchObject([{ reason: 'm#0 is lost: thor is offline', data: { key: 'm#0', node: 'thor' } }])
        expect(await scene().heartbeat(node!)).toMatchObject({ changed: true, told: true })
        expect((await actions()).filter((action) => /^node\.(online|unreachable|offline)$/.test(action))).toEqual([
          'node.online',
          'node.unreachable',
          'node.offline',
          'node.online',
        ])
      })

      test('nodes do not count as silent for the time in which no leader listened', async () => {
        const [node] = await aCluster()
        await scene().turn()
        await scene().silentFor(3_600_000, node!)
        const now = Date.now()
        expect((await scene().turn(scene().lease, now)).silent).toEqual([])
        expect((await scene().turn(scene().lease, now - 20_000)).silent).toMatchObject([{ liveness: 'unreachable' }])
        expect((await scene().turn(scene().lease, now - 61_000)).silent).toMatchObject([{ liveness: 'offline' }])
      })

      test('a node whose heartbeats get lost but that answers requests is degraded, not gone', async () => {
        const [node] = await aCluster()
        const { db } = scene()
        await scene().turn()
        const [replica] = await listReplicas(db)
        const { id, generation } = replica!
        await scene().heartbeat(node!, [aReport({ id, generation })])
        let isAlive = true
        const url = await serve((request, response) => {
          const isAsked = request.headers.authorization === `Bearer ${dataKeyOf('secret', node!.nodeId)}`
          if (isAlive && isAsked && request.url === `/replicas/${id}/${generation}/health`) response.end()
          else response.writeHead(404, { [REFUSAL_HEADER]: '1' }).end()
        })
        await db.transaction((tx) => tx.query('update nodes set address = $1', [new URL(url).host]))
        await scene().silentFor(61_000, node!)
        const judge = async () => {
          const answering = await findAnswering(db, { unreachableAfterMs: 15_000, offlineAfterMs: 60_000 }, 'secret')
          return (await scene().turn(scene().lease, 0, Date.now(), answering)).silent
        }
        expect(await judge()).toMatchObject([{ liveness: 'unreachable' }])
        expect(await listReplicas(db)).toMatchObject([{ state: 'ready' }])
        isAlive = false
        expect(await judge()).toMatchObject([{ liveness: 'offline' }])
      })

      test('since when a node is as it is changes with it, and only then', async () => {
        const [node] = await aCluster()
        const since = (await scene().node(node!)).liveness_since
        await scene().heartbeat(node!)
        await scene().turn()
        expect((await scene().node(node!)).liveness_since).toBe(since)
        await scene().db.transaction((tx) => tx.query('update nodes set liveness_since = 5'))
        await scene().silentFor(20_000, node!)
        await scene().turn()
        expect((await scene().node(node!)).liveness_since).toBeGreaterThan(since - 1)
      })

      test('nodes that go silent together keep their replicas until they are back, and it is told once', async () => {
        const nodes = await aCluster('a', 'b', 'c')
        await scene().wants(3)
        await scene().turn()
        await scene().silentFor(61_000, nodes[0]!, nodes[1]!)
        const frozen = await scene().turn()
        expect(frozen.freeze).toBe('began')
        expect(frozen.plan).toMatchObject({ steps: [], frozen: [{ name: 'a' }, { name: 'b' }] })
        expect((await scene().turn()).freeze).toBeUndefined()
        expect(await listReplicas(scene().db)).toHaveLength(3)
        await scene().heartbeat(nodes[0]!)
        expect((await scene().turn()).freeze).toBe('ended')
        expect((await scene().turn()).freeze).toBeUndefined()
        const told = (await listEvents(scene().db, 0, 100)).filter(({ action }) => action.startsWith('cluster.'))
        expect(told).toMatchObject([
          { action: 'cluster.frozen', actor: 'control', data: { nodes: ['a', 'b'] } },
          { action: 'cluster.thawed' },
        ])
      })

      test('nodes that join at the same time are not taken for lost before they are heard', async () => {
        for (const name of ['a', 'b', 'c']) await scene().register(anApplicant(name))
        expect((await scene().turn()).freeze).toBeUndefined()
      })

      test('an admin who says that they are lost ends the wait, and what they had is replaced', async () => {
        const nodes = await aCluster('a', 'b', 'c')
        await scene().wants(3)
        await scene().turn()
        await scene().silentFor(61_000, nodes[0]!, nodes[1]!)
        await scene().turn()
        expect((await scene().admin('POST', '/api/cluster/accept-loss')).body).toEqual({ nodes: ['a', 'b'] })
        const { freeze, plan } = await scene().turn()
        expect(freeze).toBe('ended')
        expect(plan.steps).toMatchObject([{ kind: 'forget', why: 'node offline' }, { kind: 'forget' }])
        expect((await scene().admin('POST', '/api/cluster/accept-loss')).body).toEqual({ nodes: [] })
        const told = (await listEvents(scene().db, 0, 100)).map(({ action }) => action)
        expect(told.filter((action) => action.startsWith('cluster.'))).toEqual([
          'cluster.frozen',
          'cluster.loss_accepted',
          'cluster.thawed',
        ])
      })
    })

    test('the first start brings a model to try; once deleted it stays deleted', async () => {
      const { db } = scene()
      const first = { firstModel: 'sim', cores: 4 } as const
      await seedFirstStart(db, first)
      expect(await db.query('select name from models')).toEqual([{ name: 'sim' }])
      await scene().register(anApplicant())
      await db.transaction((tx) => tx.query('delete from models'))
      await seedFirstStart(db, first)
      expect(await db.query('select name from models')).toEqual([])
    })

    test.each([
      [1, 1],
      [2, 2],
      [16, 2],
    ])(
      'skipper on %i cores is kept running %i times, and the simulator is there beside it',
      async (cores, replicas) => {
        const { db } = scene()
        await seedFirstStart(db, { firstModel: 'skipper', cores })
        expect(await db.query('select name, engine, source from models order by name')).toEqual([
          { name: 'sim', engine: 'sim', source: null },
          { name: 'skipper', engine: 'llama', source: 'bundled:skipper/skipper.gguf' },
        ])
        expect(await db.query('select model_name, min_replicas from rules')).toEqual([
          { model_name: 'skipper', min_replicas: replicas },
        ])
      },
    )

    test('a first start with no model has none', async () => {
      const { db } = scene()
      await seedFirstStart(db, { firstModel: 'none', cores: 4 })
      expect(await db.query('select name from models')).toEqual([])
    })
  })
}
