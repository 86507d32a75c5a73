import { describe, expect, test } from 'vitest'
import type { ReportedReplicaMessage } from '../../api/bus/messages.ts'
import type { BackendView, ReplicaView } from '../../api/admin/schemas.ts'
import { listEvents } from '../../store/nouns/events.ts'
import { listNodes } from '../../store/nouns/nodes.ts'
import { listLearned } from '../../store/nouns/learned-memory.ts'
import { listReplicas, type StoredReplica } from '../../store/nouns/replicas.ts'
import { aDevice, anEngine, aReport } from '../../../test/support/builders.ts'
import { anApplicant, type Applicant } from '../../../test/support/control/control-scene.ts'
import { sceneOn, type OpenStore } from './control-suite.ts'

/** What workers say, taken into a real store; run on each kind of store. */
export function describeHeartbeats(storeName: string, openStore: OpenStore): void {
  describe(`heartbeats on ${storeName}`, () => {
    const scene = sceneOn(openStore, { autoApprove: true })

    /** A node that has been told to start the one replica that a rule wants, and what it says of it. */
    async function aReported(fields: Partial<ReportedReplicaMessage> = {}) {
      await scene().wants(1)
      const node = await aNode()
      await scene().turn()
      const [replica] = await listReplicas(scene().db)
      const { id, generation } = replica!
      return { node, reported: aReport({ id, generation, ...fields }) }
    }
    async function aNode(name = 'thor'): Promise<Applicant> {
      const node = anApplicant(name)
      await scene().register(node)
      await scene().heartbeat(node)
      return node
    }
    /** What heartbeats have told of replicas: that one was placed is told by the turn. */
    const told = async () =>
      (await listEvents(scene().db, 0, 1000)).filter(({ action }) => /^replica\.(?!placed)/.test(action))
    const shown = async (node: Applicant): Promise<ReplicaView[]> =>
      (await scene().admin<ReplicaView[]>('GET', `/api/nodes/${node.nodeId}/models`)).body

    test('a replica that the worker says is ready is ready, even if every message before was lost', async () => {
      const { node, reported } = await aReported()
      expect(await scene().heartbeat(node, [reported])).toMatchObject({ changed: true, told: true })
      expect(await listReplicas(scene().db)).toMatchObject([{ state: 'ready' }])
      expect(await scene().heartbeat(node, [reported])).toMatchObject({ changed: false, told: false })
      expect(await told()).toMatchObject([
        { action: 'replica.ready', actor: 'control', node_id: node.nodeId, model_name: 'm', data: { key: 'm#0' } },
      ])
    })

    test('a start is followed through its phases, forward only, with how far it is', async () => {
      const { node, reported } = await aReported()
      const progress = { file: 'm.gguf', done_bytes: 3, total_bytes: 10, bytes_per_s: null }
      const seen: unknown[] = []
      for (const report of [
        { state: 'staging' as const, progress },
        { state: 'staging' as const, progress: { ...progress, done_bytes: 9 } },
        { state: 'installing' as const },
        { state: 'loading' as const },
        { state: 'ready' as const },
        { state: 'draining' as const, in_flight: 2 },
        { state: 'ready' as const },
        { state: 'stopping' as const },
      ]) {
        await scene().heartbeat(node, [{ ...reported, ...report }])
        const [view] = await shown(node)
        seen.push([view!.state, view!.progress?.done_bytes ?? null, view!.in_flight])
      }
      expect(seen).toEqual([
        ['staging', 3, 0],
        ['staging', 9, 0],
        ['staging', null, 0],
        ['loading', null, 0],
        ['ready', null, 0],
        ['draining', null, 2],
        ['draining', null, 0],
        ['stopping', null, 0],
      ])
      expect(await scene().heartbeat(node, [])).toMatchObject({ changed: true, told: false })
      expect(await shown(node)).toEqual([])
    })

    test('a failure is kept with its reason, how the engine ended and the time of the next try', async () => {
      const exit = { code: null, signal: 'SIGKILL', last_lines: ['CUDA out of memory'] }
      const error = 'the engine was killed by SIGKILL\nCUDA out of memory'
      const { node, reported } = await aReported({ state: 'failed', error, exit })
      await scene().heartbeat(node, [reported])
      const [replica] = await listReplicas(scene().db)
      expect(replica).toMatchObject({ state: 'failed', error, failures: 1, lastExit: exit })
      expect(replica!.retryAtMs).toBeGreaterThan(0)
      expect(await told()).toMatchObject([
        {
          action: 'replica.failed',
          reason: 'the engine was killed by SIGKILL. It said last: CUDA out of memory',
          data: { key: 'm#0', node: 'thor', exit_code: null, signal: 'SIGKILL' },
        },
      ])
      // The worker may forget it; how it ended stays known until the slot is tried again.
      await scene().heartbeat(node, [])
      expect(await shown(node)).toMatchObject([{ state: 'failed', error, last_exit: exit }])
      expect((await scene().admin('GET', '/api/replicas')).body).toMatchObject([{ last_exit: exit, progress: null }])
      expect((await scene().turn()).plan.steps).toEqual([])
      await scene().db.transaction((tx) => tx.query('update replicas set retry_at = 0'))
      const { plan } = await scene().turn()
      expect(plan.steps).toMatchObject([{ kind: 'forget' }, { kind: 'reserve', failures: 1 }])
      expect(await shown(node)).toMatchObject([{ state: 'reserved', last_exit: null }])
    })

    test('a replica that is no longer mentioned is lost, and told so; one that was asked to end is not', async () => {
      const { node, reported } = await aReported()
      await scene().heartbeat(node, [reported])
      expect(await scene().heartbeat(node, [])).toMatchObject({ changed: true, told: true })
      expect((await told()).at(-1)).toMatchObject({
        action: 'replica.lost',
        reason: 'm#0 is lost: thor no longer runs it',
        data: { key: 'm#0', replica_id: reported.id, node: 'thor' },
      })
      expect(await listReplicas(scene().db)).toEqual([])
    })

    test('a worker that was started again goes on with its replicas, if it counts on', async () => {
      const { node, reported } = await aReported()
      await scene().heartbeat(node, [reported])
      const [before] = await listReplicas(scene().db)
      await scene().register(node)
      node.seq += 500
      expect(await scene().heartbeat(node, [reported])).toMatchObject({ changed: false, strays: [] })
      expect(await listReplicas(scene().db)).toEqual([before])
    })

    test('a late heartbeat, one of another boot, or of an unknown node changes nothing', async () => {
      const { node, reported } = await aReported()
      await scene().heartbeat({ ...node, seq: node.seq + 5 })
      expect(await scene().heartbeat({ ...node }, [reported])).toBeUndefined()
      expect(await scene().heartbeat({ ...node, seq: 100, bootId: 'other' }, [reported])).toBeUndefined()
      expect(await scene().heartbeat({ ...node, seq: 100, nodeId: 'nobody' }, [reported])).toBeUndefined()
      expect(await listReplicas(scene().db)).toMatchObject([{ state: 'reserved' }])
    })

    test('a node that has more free than before says so; what flutters does not count', async () => {
      const node = await aNode()
      const MIB = 2 ** 20
      const gpu = (available: number | null) => [aDevice({ available_vram: available })]
      const roomier: unknown[] = []
      for (const facts of [
        { available_ram: 1000 * MIB, available_disk: 1000 * MIB, devices: gpu(1000 * MIB) },
        { available_ram: 1030 * MIB, available_disk: 900 * MIB, devices: gpu(1001 * MIB) },
        { available_ram: 1100 * MIB, available_disk: 900 * MIB, devices: gpu(500 * MIB) },
        { available_ram: 900 * MIB, available_disk: 1000 * MIB, devices: gpu(500 * MIB) },
        { available_ram: 900 * MIB, available_disk: 1000 * MIB, devices: gpu(600 * MIB) },
        { available_ram: 900 * MIB, available_disk: 1000 * MIB, devices: gpu(null) },
        { available_ram: 900 * MIB, available_disk: 1000 * MIB, devices: [] },
        { available_ram: 900 * MIB, available_disk: 1000 * MIB, devices: [] },
      ]) {
        roomier.push((await scene().heartbeat(node, [], facts))?.roomier)
      }
      // A card that could not be read is as it was last.
      expect(roomier).toEqual([true, false, true, true, true, false, true, false])
    })

    test('what an ended replica held is known until the node’s memory was read after its end', async () => {
      const { node, reported } = await aReported({ memory: { devices: null, ram: 5000 } })
      const freed = async () => (await listNodes(scene().db))[0]!.freed
      await scene().heartbeat(node, [reported], { unread: [] })
      // Two heartbeats on the way are lost: what the worker does not mention is unread all the same.
      node.seq += 2
      expect(await scene().heartbeat(node, [], { unread: [reported.id] })).toMatchObject({ isSame: false })
      expect(await freed()).toMatchObject([{ replicaId: reported.id, devices: [], ram: 5000 }])
      expect(await scene().heartbeat(node, [], { unread: [reported.id] })).toMatchObject({
        changed: false,
        isSame: true,
      })
      expect(await scene().heartbeat(node, [], { unread: [] })).toMatchObject({ changed: true, isSame: false })
      expect(await freed()).toBeNull()
    })

    test('what a replica takes is learned from what was seen once it was ready, and its claim shows that then', async () => {
      const engines = [anEngine({ memory: 'on_load' })]
      const gpu = aDevice({ total_vram: 150e9, available_vram: 150e9 })
      const node = await aNode()
      await scene().heartbeat(node, [], { engines, devices: [gpu] })
      await scene().wants(1)
      await scene().turn()
      const [{ id, generation }] = (await listReplicas(scene().db)) as [StoredReplica]
      const claim = { devices: [{ index: 0, bytes: 139e9 }], ram: 0, disk: 0, source: 'unknown', alone: true }
      await scene().db.transaction((tx) => tx.query('update replicas set claim = $1', [JSON.stringify(claim)]))
      const seen = (bytes: number, loaded: boolean) =>
        aReport({ id, generation, memory: { loaded, ram: 1, devices: [{ index: 0, bytes }] } })
      const say = (report: ReportedReplicaMessage) => scene().heartbeat(node, [report], { engines, devices: [gpu] })
      const learned = async () => (await listLearned(scene().db)).map(({ vram }) => vram)

      await say({ ...seen(20e9, false), state: 'loading' })
      await say(seen(25e9, false))
      expect(await learned()).toEqual([])
      expect(await shown(node)).toMatchObject([
        { state: 'ready', claim: { devices: claim.devices, source: 'unknown' } },
      ])
      await say(seen(35.2e9, true))
      expect(await learned()).toEqual([35.2e9])
      const now = { claim: { devices: [{ index: 0, bytes: 35.2e9 }], source: 'measured' } }
      expect(await shown(node)).toMatchObject([now])
      // Its cache fills.
      await say(seen(37e9, true))
      expect(await learned()).toEqual([37e9])
    })

    test('of many that are taken together each counts for its own node', async () => {
      const { node, reported } = await aReported()
      const other = await aNode('odin')
      const nobody = { ...other, nodeId: 'nobody' }
      const late = { ...other, seq: 0 }
      const outcomes = await scene().heartbeats([
        { who: nobody, replicas: [reported] },
        { who: other, replicas: [], available_ram: 7 },
        { who: node, replicas: [{ ...reported, in_flight: 3 }] },
      ])
      expect(outcomes).toMatchObject([
        { nodeId: other.nodeId, changed: false },
        { nodeId: node.nodeId, changed: true },
      ])
      expect(await listReplicas(scene().db)).toMatchObject([{ state: 'ready', inFlight: 3, nodeId: node.nodeId }])
      expect(await scene().node(other)).toMatchObject({ available_ram: 7 })
      expect(await scene().heartbeats([{ who: late }, { who: node, replicas: [reported] }])).toHaveLength(1)
    })

    test('of two of one node that are taken together the second goes on from the first', async () => {
      const { node, reported } = await aReported()
      const again = { ...node, seq: node.seq + 1 }
      const outcomes = await scene().heartbeats([
        { who: node, replicas: [{ ...reported, in_flight: 3 }] },
        { who: again, replicas: [] },
      ])
      // It was told to be ready, and then that it is gone.
      expect(outcomes).toMatchObject([{ changed: true }, { changed: true }])
      expect(await listReplicas(scene().db)).toEqual([])
    })

    test('a process that no row wants is to be stopped', async () => {
      const { node, reported } = await aReported()
      const outcome = await scene().heartbeat(node, [reported, { ...reported, id: 'stray' }])
      expect(outcome).toMatchObject({ strays: [{ id: 'stray' }] })
    })

    test('a process that no row wants is left for a while on a node that had to register anew, but for what holds a place', async () => {
      const { node, reported } = await aReported()
      const kept = { ...reported, id: 'kept', replica_index: 7 }
      const inTheWay = { ...reported, id: 'in the way' }
      const outcome = await scene().heartbeat(node, [reported, kept, inTheWay], { is_returned: true })
      expect(outcome!.strays.map(({ id }) => id)).toEqual(['in the way'])
      expect((await scene().heartbeat(node, [reported, kept]))!.strays).toMatchObject([{ id: 'kept' }])
    })

    test('requests in flight are counted, and what is no longer reported has none', async () => {
      const { node, reported } = await aReported()
      await scene().heartbeat(node, [{ ...reported, in_flight: 3 }])
      expect(await scene().node(node)).toMatchObject({ in_flight_count: 3, replica_count: 1, model_count: 1 })
      await scene().heartbeat(node, [])
      expect(await scene().node(node)).toMatchObject({ in_flight_count: 0 })
    })

    test('what is said of the engines is shown as it was said', async () => {
      const node = await aNode()
      const operation = {
        id: 'c1',
        kind: 'install' as const,
        state: 'running' as const,
        error: null,
        stopped: ['m#0'],
        progress: { file: null, done_bytes: 1, total_bytes: null, bytes_per_s: 7 },
      }
      const engines = [anEngine(), anEngine({ name: 'vllm', state: 'installing', source: 'user', operation })]
      expect(await scene().heartbeat(node, [], { engines })).toMatchObject({ changed: true })
      const path = `/api/nodes/${node.nodeId}/backends`
      expect((await scene().admin<BackendView[]>('GET', path)).body).toEqual(engines)
      // How far it is changes all the time, and nothing that is decided.
      const further = [engines[0]!, { ...engines[1]!, operation: { ...operation, progress: null } }]
      expect(await scene().heartbeat(node, [], { engines: further })).toMatchObject({ changed: false })
      expect((await scene().admin<BackendView[]>('GET', path)).body).toEqual(further)
    })

    test('a rule waits for an engine, with the reason of every node, and is kept when one can run it', async () => {
      const node = await aNode()
      const reason = 'the program llama-server is neither installed nor in PATH'
      const missing = anEngine({ name: 'llama-server', state: 'missing', reason })
      await scene().heartbeat(node, [], { engines: [anEngine(), missing] })
      await scene().admin('POST', '/api/models', { name: 'l', engine: 'llama-server' })
      await scene().admin('POST', '/api/nodes/scheduling', { model_name: 'l', min_replicas: 1 })
      const { plan } = await scene().turn()
      expect(plan.steps).toEqual([])
      expect(plan.unmet).toMatchObject([
        { modelName: 'l', refusals: [{ filter: 'engine', needed: 'llama-server', available: reason }] },
      ])
      const available = { ...missing, state: 'available' as const, reason: null }
      expect(await scene().heartbeat(node, [], { engines: [anEngine(), available] })).toMatchObject({ changed: true })
      expect((await scene().turn()).plan.steps).toMatchObject([{ kind: 'reserve', modelName: 'l' }])
    })

    test('an engine that can still be installed is no reason to refuse', async () => {
      await scene().wants(1)
      const node = await aNode()
      await scene().heartbeat(node, [], { engines: [anEngine({ state: 'installable', reason: 'not here yet' })] })
      expect((await scene().turn()).plan.steps).toMatchObject([{ kind: 'reserve' }])
    })

    test('everything measured is stored; a device that could not be read keeps its last value', async () => {
      const node = await aNode()
      const gpu = { index: 0, uuid: 'g0', name: 'A100', total_vram: 100, available_vram: 60, unified: false }
      const other = { ...gpu, index: 1, uuid: 'g1', available_vram: 30 }
      await scene().heartbeat(node, [], { gpu_vendor: 'nvidia', devices: [gpu, other] })
      const unread = { ...gpu, available_vram: null }
      await scene().heartbeat(node, [], {
        gpu_vendor: 'nvidia',
        devices: [unread, { ...other, available_vram: 20 }],
        total_ram: 2,
        available_ram: 1,
        total_disk: 4,
        available_disk: 3,
      })
      expect(await scene().node(node)).toMatchObject({
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
      await scene().heartbeat(node, [], { devices: [{ ...unread, uuid: 'new' }] })
      expect(await scene().node(node)).toMatchObject({ available_vram: null, total_vram: 100 })
    })

    test('of a pending node are ignored', async () => {
      const node = anApplicant()
      await scene().register(node)
      await scene().db.transaction((tx) => tx.query('update nodes set approved_at = null'))
      expect(await scene().heartbeat(node)).toBeUndefined()
      expect(await listNodes(scene().db)).toMatchObject([{ liveness: 'offline', last_heartbeat: null }])
    })
  })
}
