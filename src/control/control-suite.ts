import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { HeartbeatMessage } from '../api/bus/messages.ts'
import { REFUSAL_HEADER } from '../api/data-port.ts'
import type { Database } from '../store/database.ts'
import { listEvents } from '../store/events.ts'
import { LeaseLostError } from '../store/leases.ts'
import { listNodes } from '../store/nodes.ts'
import { listReplicas } from '../store/replicas.ts'
import { anApplicant, ControlScene, lead, type Applicant } from '../testing/control-scene.ts'
import { serve } from '../testing/http.ts'
import { dataKeyOf } from './data-key.ts'
import { seedFirstStart } from './first-start.ts'
import { findAnswering } from './probe-nodes.ts'

export type OpenStore = () => Promise<{ db: Database; drop: () => Promise<void> }>

/** A scene on a fresh store for each test. */
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
    await scene.db.close()
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
        expect(await scene().heartbeat(node!)).toMatchObject({ changed: true, back: true })
        expect((await actions()).filter((action) => /^node\.(online|unreachable|offline)$/.test(action))).toEqual([
          'node.online',
          'node.unreachable',
          'node.offline',
          'node.online',
        ])
      })

      test('while nobody could hear the nodes they were not silent', async () => {
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
        const ready = { id, generation, model_name: 'm', replica_index: 0, state: 'ready' as const, in_flight: 0 }
        await scene().heartbeat(node!, [ready])
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
    })

    describe('heartbeats', () => {
      async function aReported(state: 'loading' | 'ready' | 'failed', error?: string) {
        const [node] = await aCluster()
        await scene().turn()
        const [replica] = await listReplicas(scene().db)
        const { id, generation } = replica!
        const reported: HeartbeatMessage['replicas'][number] = {
          id,
          generation,
          model_name: 'm',
          replica_index: 0,
          in_flight: 0,
          state,
          ...(error === undefined ? {} : { error }),
        }
        return { node: node!, reported }
      }

      test('a replica that the worker says is ready is ready, even if every message before was lost', async () => {
        const { node, reported } = await aReported('ready')
        expect(await scene().heartbeat(node, [reported])).toMatchObject({ changed: true })
        expect(await listReplicas(scene().db)).toMatchObject([{ state: 'ready' }])
      })

      test('a failure is kept with its reason and the time of the next try', async () => {
        const { node, reported } = await aReported('failed', 'exit code 1')
        await scene().heartbeat(node, [reported])
        const [replica] = await listReplicas(scene().db)
        expect(replica).toMatchObject({ state: 'failed', error: 'exit code 1', failures: 1 })
        expect(replica!.retryAtMs).toBeGreaterThan(0)
        expect((await scene().turn()).plan.steps).toEqual([])
        await scene().db.transaction((tx) => tx.query('update replicas set retry_at = 0'))
        const { plan } = await scene().turn()
        expect(plan.steps).toMatchObject([{ kind: 'forget' }, { kind: 'reserve', failures: 1 }])
      })

      test('a late heartbeat, one of another boot, or of nobody changes nothing', async () => {
        const { node, reported } = await aReported('ready')
        await scene().heartbeat({ ...node, seq: node.seq + 5 })
        expect(await scene().heartbeat({ ...node }, [reported])).toBeUndefined()
        expect(await scene().heartbeat({ ...node, seq: 100, bootId: 'other' }, [reported])).toBeUndefined()
        expect(await scene().heartbeat({ ...node, seq: 100, nodeId: 'nobody' }, [reported])).toBeUndefined()
        expect(await listReplicas(scene().db)).toMatchObject([{ state: 'reserved' }])
      })

      test('a process that no row wants is to be stopped', async () => {
        const { node, reported } = await aReported('ready')
        const outcome = await scene().heartbeat(node, [reported, { ...reported, id: 'stray' }])
        expect(outcome).toMatchObject({ strays: [{ id: 'stray' }] })
      })

      test('requests in flight are counted, and what is no longer reported has none', async () => {
        const { node, reported } = await aReported('ready')
        await scene().heartbeat(node, [{ ...reported, in_flight: 3 }])
        expect(await scene().node(node)).toMatchObject({ in_flight_count: 3, replica_count: 1, model_count: 1 })
        await scene().heartbeat(node, [])
        expect(await scene().node(node)).toMatchObject({ in_flight_count: 0 })
      })

      test('everything measured is stored; a device that could not be read keeps its last value', async () => {
        const [node] = await aCluster()
        const gpu = { index: 0, uuid: 'g0', name: 'A100', total_vram: 100, available_vram: 60, unified: false }
        const other = { ...gpu, index: 1, uuid: 'g1', available_vram: 30 }
        await scene().heartbeat(node!, [], { gpu_vendor: 'nvidia', devices: [gpu, other] })
        const unread = { ...gpu, available_vram: null }
        await scene().heartbeat(node!, [], {
          gpu_vendor: 'nvidia',
          devices: [unread, { ...other, available_vram: 20 }],
        })
        expect(await scene().node(node!)).toMatchObject({
          gpu_vendor: 'nvidia',
          total_vram: 200,
          available_vram: 80,
          total_ram: 2,
          available_ram: 1,
          total_disk: 4,
          available_disk: 3,
          devices: [
            { uuid: 'g0', available_vram: 60 },
            { uuid: 'g1', available_vram: 20 },
          ],
        })
        await scene().heartbeat(node!, [], { devices: [{ ...unread, uuid: 'new' }] })
        expect(await scene().node(node!)).toMatchObject({ available_vram: null, total_vram: 100 })
      })

      test('of a pending node are ignored', async () => {
        const node = anApplicant()
        await scene().register(node)
        await scene().db.transaction((tx) => tx.query('update nodes set approved_at = null'))
        expect(await scene().heartbeat(node)).toBeUndefined()
        expect(await listNodes(scene().db)).toMatchObject([{ liveness: 'offline', last_heartbeat: null }])
      })
    })

    test('the first start brings a model to try; who deletes it is taken at their word', async () => {
      const { db } = scene()
      await seedFirstStart(db)
      expect(await db.query('select name from models')).toEqual([{ name: 'sim' }])
      await scene().register(anApplicant())
      await db.transaction((tx) => tx.query('delete from models'))
      await seedFirstStart(db)
      expect(await db.query('select name from models')).toEqual([])
    })
  })
}
