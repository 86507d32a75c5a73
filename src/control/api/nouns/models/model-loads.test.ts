import { describe, expect, test } from 'vitest'
import type { ModelExplanation } from '../../../../api/admin/model-schemas.ts'
import type { Unloaded } from '../../../../api/admin/schemas.ts'
import type { LoadStatus } from '../../../../api/load-status.ts'
import { listDemands } from '../../../../store/nouns/demands.ts'
import { listEvents } from '../../../../store/nouns/events.ts'
import { saveLoadInfo } from '../../../../store/nouns/load-info.ts'
import { listReplicas } from '../../../../store/nouns/replicas.ts'
import { aStage } from '../../../../../test/support/control/admin-stage.ts'
import { aReport } from '../../../../../test/support/builders.ts'

/** Model `m` runs on thor without any rule; `cold` is a model that does not run. */
async function aScene() {
  const stage = await aStage()
  const { scene, thor } = stage
  await scene.admin('POST', '/api/models', { name: 'cold', engine: 'sim' })
  const report = async (): Promise<void> => {
    const rows = await listReplicas(scene.db)
    const running = rows.filter(({ state }) => state !== 'draining' && state !== 'stopping')
    const reports = running.map(({ id, generation, replicaIndex, modelName }) =>
      aReport({ id, generation, replica_index: replicaIndex, model_name: modelName }),
    )
    await scene.heartbeat(thor, reports)
  }
  await report()
  await scene.admin('DELETE', '/api/nodes/scheduling/m')
  const actions = async () => (await listEvents(scene.db, 0, 1000)).map(({ action }) => action)
  const states = async () => (await listReplicas(scene.db)).map(({ modelName, state }) => `${modelName} ${state}`)
  const load = (name: string) => scene.admin<LoadStatus>('POST', `/api/models/${name}/load`)
  const unload = (name: string, body: object = {}) => scene.admin<Unloaded>('POST', `/api/models/${name}/unload`, body)
  const explain = async (name: string) =>
    (await scene.admin<ModelExplanation>('GET', `/api/models/${name}/explain`)).body
  return { ...stage, report, actions, states, load, unload, explain }
}

describe('loading', () => {
  test('asks for a model for a while, says what comes of it, and the next turn places it', async () => {
    const { scene, actions, load, report } = await aScene()
    const changes = scene.asked.changes
    const { status, body } = await load('cold')
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { state: 'waiting', reason: 'It is placed on thor now.', loading: { model: 'cold', state: 'waiting' } },
    })
    const [demand] = await listDemands(scene.db)
    expect(demand!.wantedUntilMs - demand!.sinceMs).toBe(24 * 3_600_000)
    expect((await actions()).at(-1)).toBe('model.load_asked')
    expect(scene.asked.changes).toBe(changes + 1)

    await scene.turn()
    const loadStatus = () => scene.admin<LoadStatus>('GET', '/api/models/cold/load-status')
    expect((await loadStatus()).body).toMatchObject({ state: 'loading', loading: { state: 'reserved', node: 'thor' } })
    await report()
    expect((await loadStatus()).body).toEqual({ state: 'ready', loading: null, reason: null, next_attempt_at: null })
  })

  test('twice is as good as once', async () => {
    const { scene, load } = await aScene()
    await Promise.all([load('cold'), load('cold'), load('cold')])
    expect(await listDemands(scene.db)).toHaveLength(1)
    await scene.turn()
    expect((await listReplicas(scene.db)).filter(({ modelName }) => modelName === 'cold')).toHaveLength(1)
  })
})

describe('unloading a model everywhere', () => {
  test('stops its replicas, takes back that it was to be loaded, and leaves others alone', async () => {
    const { scene, load, unload, states, report, actions } = await aScene()
    await load('cold')
    await scene.turn()
    await report()
    const { body } = await unload('cold', { force: true })
    expect(body).toMatchObject({ replicas: [{ key: 'cold#0', gone: true }], kept_by_rule: false })
    expect(await states()).toEqual(['cold draining', 'm ready'])
    expect(await listDemands(scene.db)).toEqual([])
    expect(scene.worker.told('replicaStop').at(-1)).toMatchObject({ target: { model_name: 'cold' }, force: true })
    expect(await actions()).toContain('replica.unloaded')
    expect((await scene.turn()).plan.steps).toEqual([])
  })

  test('says so when a rule starts it again', async () => {
    const { scene, unload } = await aScene()
    await scene.wants(1)
    expect((await unload('m')).body.kept_by_rule).toBe(true)
  })

  test('works while the node is away: the rows will tell it', async () => {
    const { scene, unload, states } = await aScene()
    scene.worker.leave()
    expect((await unload('m')).body).toMatchObject({ replicas: [{ key: 'm#0', gone: false }] })
    expect(await states()).toEqual(['m draining'])
  })

  test('a load that has not begun is taken back all the same', async () => {
    const { scene, load, unload } = await aScene()
    await load('cold')
    expect((await unload('cold')).body).toEqual({ replicas: [], kept_by_rule: false })
    expect((await scene.admin<LoadStatus>('GET', '/api/models/cold/load-status')).body.state).toBe('stopped')
  })

  test('a model that was removed may still have replicas to stop', async () => {
    const { scene, unload } = await aScene()
    await scene.admin('DELETE', '/api/models/m')
    expect((await unload('m')).body.replicas).toMatchObject([{ key: 'm#0' }])
    expect((await unload('never')).status).toBe(404)
  })
})

describe('explaining', () => {
  test('has the last decision about this model and its last load', async () => {
    const { scene, load, explain } = await aScene()
    expect(await explain('cold')).toMatchObject({
      last_decision: null,
      last_load: null,
      wanted: null,
      wanted_since: null,
    })
    await load('cold')
    await scene.turn()
    const info = { engine: 'sim', engineVersion: null, source: null, options: {}, revision: 'r', nodeName: 'thor' }
    await scene.db.transaction((tx) => saveLoadInfo(tx, { modelName: 'cold', ...info, loadMs: 1500 }))
    expect(await explain('cold')).toMatchObject({
      wanted_since: expect.any(Number),
      status: { state: 'loading' },
      last_decision: { action: 'replica.placed', reason: expect.stringContaining('cold#0 is placed on thor') },
      last_load: { node_name: 'thor', ms: 1500 },
      memory: [{ device_kind: 'cpu' }],
    })
    expect(await explain('m')).toMatchObject({
      last_decision: { action: 'replica.ready' },
      last_load: { node_name: 'thor' },
    })
  })
})
