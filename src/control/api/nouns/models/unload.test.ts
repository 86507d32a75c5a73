import { describe, expect, test } from 'vitest'
import type { ReplicaStoppedMessage } from '../../../../api/bus/messages.ts'
import type { Unloaded } from '../../../../api/admin/schemas.ts'
import { listEvents } from '../../../../store/nouns/events.ts'
import { listReplicas, type StoredReplica } from '../../../../store/nouns/replicas.ts'
import { aStage } from '../../../../../test/support/control/admin-stage.ts'
import { aReport } from '../../../../../test/support/builders.ts'

/** Two replicas of `m` on thor, ready; its worker stops what it is told to. */
async function aLoadedStage() {
  const stage = await aStage()
  const { scene, thor } = stage
  await scene.wants(2)
  await scene.turn()
  const reports = (await listReplicas(scene.db)).map(({ id, generation, replicaIndex }) =>
    aReport({ id, generation, replica_index: replicaIndex }),
  )
  await scene.heartbeat(thor, reports)
  const rows = await listReplicas(scene.db)
  const stopped = (replicas: StoredReplica[], gone: boolean): ReplicaStoppedMessage => ({
    replicas: replicas.map(({ id, generation, replicaIndex }) => ({ id, generation, key: `m#${replicaIndex}`, gone })),
  })
  const unload = (body: object, nodeId = thor.nodeId) =>
    scene.admin<Unloaded>('POST', `/api/nodes/${nodeId}/models/unload`, body)
  const states = async () => (await listReplicas(scene.db)).map(({ replicaIndex, state }) => [replicaIndex, state])
  const told = async () => (await listEvents(scene.db, 0, 1000)).filter(({ action }) => action === 'replica.unloaded')
  return { ...stage, rows, reports, stopped, unload, states, told }
}

describe('unloading', () => {
  test('one replica drains that one, tells its worker which, and leaves the others alone', async () => {
    const { scene, thor, rows, stopped, unload, states, told } = await aLoadedStage()
    scene.worker.script.replicaStop = () => stopped([rows[1]!], true)
    const { status, body } = await unload({ model_name: 'm', replica_index: 1 })
    expect(status).toBe(200)
    expect(body).toEqual({ replicas: [{ id: rows[1]!.id, key: 'm#1', gone: true }], kept_by_rule: true })
    expect(await states()).toEqual([
      [0, 'ready'],
      [1, 'draining'],
    ])
    const target = { what: 'key', key: 'm#1', not_after: rows[1]!.generation }
    expect(scene.worker.told('replicaStop')).toEqual([{ target, force: false, wait_ms: 5000 }])
    expect(scene.worker.asked.at(-1)!.timeoutMs).toBeGreaterThan(5000)
    expect(await told()).toMatchObject([
      {
        actor: 'admin',
        node_id: thor.nodeId,
        model_name: 'm',
        reason: 'm#1 on thor is unloaded',
        data: { keys: ['m#1'] },
      },
    ])
  })

  test('a model drains all of its replicas on the node, fenced by the newest', async () => {
    const { scene, rows, stopped, unload, states } = await aLoadedStage()
    scene.worker.script.replicaStop = () => ({
      replicas: [...stopped([rows[0]!], true).replicas, ...stopped([rows[1]!], false).replicas],
    })
    const { body } = await unload({ model_name: 'm', force: true })
    expect(body.replicas).toMatchObject([
      { key: 'm#0', gone: true },
      { key: 'm#1', gone: false },
    ])
    expect(await states()).toEqual([
      [0, 'draining'],
      [1, 'draining'],
    ])
    const newest = Math.max(...rows.map(({ generation }) => generation))
    expect(scene.worker.told('replicaStop')).toMatchObject([
      { target: { what: 'model', model_name: 'm', not_after: newest }, force: true },
    ])
  })

  test('what was only reserved, or has failed, is ended, too', async () => {
    const { scene, thor, reports, unload, states } = await aLoadedStage()
    await scene.wants(3)
    await scene.admin('PUT', `/api/nodes/${thor.nodeId}/max-replicas-per-model`, { value: 3 })
    await scene.turn()
    await scene.heartbeat(thor, [{ ...reports[0]!, state: 'failed', error: 'it crashed' }, reports[1]!])
    expect((await unload({ model_name: 'm' })).body.replicas).toHaveLength(3)
    expect(await states()).toEqual([
      [0, 'stopping'],
      [1, 'draining'],
      [2, 'stopping'],
    ])
  })

  test('while the worker is away happens all the same: the rows say so, and nothing is claimed to be gone', async () => {
    const { scene, thor, rows, unload, states, told } = await aLoadedStage()
    scene.worker.leave()
    const { status, body } = await unload({ model_name: 'm', replica_index: 0 })
    expect([status, body]).toEqual([
      200,
      { replicas: [{ id: rows[0]!.id, key: 'm#0', gone: false }], kept_by_rule: true },
    ])
    expect(await states()).toEqual([
      [0, 'draining'],
      [1, 'ready'],
    ])
    // Asked again, nothing new is said; when the worker no longer mentions it, it is gone and not lost.
    await unload({ model_name: 'm', replica_index: 0 })
    expect(await told()).toHaveLength(1)
    expect(await scene.heartbeat(thor, [aReport({ ...idOf(rows[1]!), replica_index: 1 })])).toMatchObject({
      told: false,
    })
    expect(await states()).toEqual([[1, 'ready']])
  })

  test('what is not there is no mistake, and no change; the worker may know of more than the rows', async () => {
    const { scene, unload, states } = await aLoadedStage()
    const changes = scene.asked.changes
    expect((await unload({ model_name: 'm', replica_index: 7 })).body).toEqual({ replicas: [], kept_by_rule: false })
    expect((await unload({ model_name: 'unknown' })).body).toEqual({ replicas: [], kept_by_rule: false })
    scene.worker.script.replicaStop = () => ({ replicas: [{ id: 's', generation: 1, key: 'm#7', gone: true }] })
    expect((await unload({ model_name: 'm', replica_index: 7 })).body.replicas).toEqual([
      { id: 's', key: 'm#7', gone: true },
    ])
    expect(scene.asked.changes).toBe(changes)
    expect((await states()).map(([, state]) => state)).toEqual(['ready', 'ready'])
    const [now] = await scene.db.query<{ now: number }>('select now_ms() as now')
    const { target } = scene.worker.told('replicaStop')[0]!
    expect(target).toMatchObject({
      what: 'key',
      not_after: expect.toSatisfy((at: number) => at <= now!.now && at > 1e12),
    })
  })

  test('what no rule asks for stays away', async () => {
    const { scene, unload } = await aLoadedStage()
    await scene.wants(1)
    expect((await unload({ model_name: 'm', replica_index: 1 })).body.kept_by_rule).toBe(false)
    await scene.admin('DELETE', '/api/nodes/scheduling/m')
    expect((await unload({ model_name: 'm' })).body.kept_by_rule).toBe(false)
  })

  test('any name of a model works', async () => {
    const { scene, unload } = await aLoadedStage()
    const name = 'org/модель #1 100%'
    await unload({ model_name: name, replica_index: 2 })
    expect(scene.worker.told('replicaStop')).toMatchObject([{ target: { what: 'key', key: `${name}#2` } }])
  })
})

function idOf({ id, generation }: StoredReplica) {
  return { id, generation }
}
