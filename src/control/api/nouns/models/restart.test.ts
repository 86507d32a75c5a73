import { describe, expect, test } from 'vitest'
import { listDemands } from '../../../../store/nouns/demands.ts'
import { listEvents } from '../../../../store/nouns/events.ts'
import { listReplicas } from '../../../../store/nouns/replicas.ts'
import { deleteRule } from '../../../../store/nouns/rules.ts'
import { aStage } from '../../../../../test/support/control/admin-stage.ts'
import { aReport } from '../../../../../test/support/builders.ts'

/** So many ready replicas of `m` on thor; its worker ends at once what it is told to. */
async function aLoadedStage(count = 1) {
  const stage = await aStage()
  const { scene, thor } = stage
  await scene.wants(count)
  await scene.turn()
  const rows = await listReplicas(scene.db)
  const beat = async () =>
    scene.heartbeat(
      thor,
      (await listReplicas(scene.db))
        .filter(({ state }) => state !== 'draining' && state !== 'stopping')
        .map(({ id, generation, replicaIndex }) => aReport({ id, generation, replica_index: replicaIndex })),
    )
  await beat()
  const restart = (id = rows[0]!.id, body: object = {}) =>
    scene.admin<{ key: string; text: string }>('POST', `/api/replicas/${id}/restart`, body)
  const states = async () => (await listReplicas(scene.db)).map(({ id, state }) => [id, state])
  const forgetRule = () => scene.db.transaction((tx) => deleteRule(tx, 'm'))
  return { ...stage, rows, beat, restart, states, forgetRule }
}

describe('restarting a replica', () => {
  test('stops that one, and the rule starts another in its place', async () => {
    const { scene, rows, beat, restart, states } = await aLoadedStage()
    const { status, body } = await restart()
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        key: 'm#0',
        text: 'm#0 on thor has stopped. The rule of its model starts another one where there is room.',
      },
    })
    expect(await states()).toEqual([[rows[0]!.id, 'draining']])
    const target = { what: 'key', key: 'm#0', not_after: rows[0]!.generation }
    expect(scene.worker.told('replicaStop')).toEqual([{ target, force: false, wait_ms: 1000 }])
    expect(await listDemands(scene.db)).toEqual([])
    await beat()
    await scene.turn()
    const [after] = await listReplicas(scene.db)
    expect(after).toMatchObject({ state: 'reserved', replicaIndex: 0 })
    expect(after!.id).not.toBe(rows[0]!.id)
    const told = (await listEvents(scene.db, 0, 1000)).filter(({ action }) => action === 'replica.restarted')
    expect(told).toMatchObject([{ actor: 'admin', model_name: 'm', reason: 'm#0 on thor is restarted' }])
  })

  test('without a rule it comes back as if it were loaded by hand', async () => {
    const { scene, beat, restart, forgetRule } = await aLoadedStage()
    await forgetRule()
    const { body } = await restart(undefined, { force: true })
    expect(body.text).toContain('Its model is loaded again where there is room')
    expect(scene.worker.told('replicaStop')).toMatchObject([{ force: true }])
    expect(await listDemands(scene.db)).toMatchObject([{ modelName: 'm' }])
    await beat()
    await scene.turn()
    expect(await listReplicas(scene.db)).toMatchObject([{ state: 'reserved' }])
  })

  test('without a rule and beside others that serve, none takes its place, and that is said', async () => {
    const { scene, restart, forgetRule, rows, states } = await aLoadedStage(2)
    await forgetRule()
    expect((await restart()).body.text).toContain('others of its model serve, so none is started in its place')
    expect(await states()).toEqual([
      [rows[0]!.id, 'draining'],
      [rows[1]!.id, 'ready'],
    ])
    expect(await listDemands(scene.db)).toEqual([])
  })

  test('one that has failed is tried again at once', async () => {
    const { scene, thor, rows, restart, beat } = await aLoadedStage()
    const { id, generation } = rows[0]!
    await scene.heartbeat(thor, [aReport({ id, generation, state: 'failed', error: 'it crashed' })])
    expect((await scene.turn()).plan.steps).toEqual([])
    expect((await restart()).status).toBe(200)
    await beat()
    await scene.turn()
    expect(await listReplicas(scene.db)).toMatchObject([{ state: 'reserved', failures: 0 }])
  })

  test('what runs may finish first, and a worker that is away hears of it later', async () => {
    const { scene, rows, restart } = await aLoadedStage(2)
    const [first, second] = rows
    const { id, generation } = first!
    scene.worker.script.replicaStop = () => ({ replicas: [{ id, generation, key: 'm#0', gone: false }] })
    expect((await restart()).body.text).toContain('m#0 on thor is stopped when what runs there has finished.')
    scene.worker.script.replicaStop = () => Promise.reject(new Error('nothing is listening'))
    expect((await restart(second!.id)).body.text).toContain('m#1 on thor is stopped as soon as thor answers again.')
  })

  test('one that is being stopped, or is gone, is not restarted, nor the one in its place', async () => {
    const { scene, rows, beat, restart, states } = await aLoadedStage()
    await restart()
    expect(await restart()).toMatchObject({
      status: 409,
      body: { error: { message: 'm#0 is being stopped already, or is gone.' } },
    })
    await beat()
    await scene.turn()
    expect((await restart(rows[0]!.id)).status).toBe(404)
    expect(await states()).toMatchObject([[expect.any(String), 'reserved']])
    expect(await listDemands(scene.db)).toEqual([])
  })
})
