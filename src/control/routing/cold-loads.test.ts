import { expect, test } from 'vitest'
import { listDemands } from '../../store/nouns/demands.ts'
import { listReplicas } from '../../store/nouns/replicas.ts'
import { aStage } from '../../../test/support/control/admin-stage.ts'
import { aReport } from '../../../test/support/builders.ts'
import { ColdLoads } from './cold-loads.ts'

const WANTED = { model_name: 'cold', wanted_ms: 30_000 }

/** A node, and a model `cold` that no rule asks for. */
async function aScene() {
  const { scene, thor } = await aStage()
  await scene.admin('POST', '/api/models', { name: 'cold', engine: 'sim' })
  let wakes = 0
  const cold = new ColdLoads({ db: scene.db, policy: 'spread', onChange: () => (wakes += 1) })
  const turn = async () => (await scene.turn()).world
  const rows = async () => (await listReplicas(scene.db)).filter(({ modelName }) => modelName === 'cold')
  const report = async (state: 'loading' | 'ready'): Promise<void> => {
    const reports = (await listReplicas(scene.db)).map(({ id, generation, modelName, replicaIndex }) =>
      aReport({ id, generation, model_name: modelName, replica_index: replicaIndex, state }),
    )
    await scene.heartbeat(thor, reports)
  }
  return { scene, thor, cold, turn, rows, report, wakes: () => wakes }
}

test('many waits for a model at once make one demand, and one load follows', async () => {
  const { scene, cold, turn, rows, wakes } = await aScene()
  const world = await turn()
  const answers = await Promise.all(Array.from({ length: 50 }, () => cold.want(WANTED, world)))
  // As it will be, not as it was a moment ago.
  expect(new Set(answers.map(({ state }) => state))).toEqual(new Set(['waiting']))
  expect(await listDemands(scene.db)).toMatchObject([{ modelName: 'cold' }])
  expect(wakes()).toBe(1)
  for (let i = 0; i < 3; i += 1) await turn()
  expect(await rows()).toMatchObject([{ state: 'reserved', replicaIndex: 0 }])
})

test('a demand that lasts long enough is not written again; one that ends soon is', async () => {
  const { cold, turn, wakes } = await aScene()
  await cold.want(WANTED, await turn())
  const world = await turn()
  await cold.want(WANTED, world)
  expect(wakes()).toBe(1)
  await cold.want(WANTED, { ...world, nowMs: world.nowMs + 15_000 })
  expect(wakes()).toBe(2)
})

test('it goes on under another leader, is told while it loads, and stays when it is ready', async () => {
  const { scene, cold, turn, rows, report } = await aScene()
  await cold.want(WANTED, await turn())
  await turn()
  await report('loading')
  const other = new ColdLoads({ db: scene.db, policy: 'spread', onChange: () => {} })
  expect(await other.want(WANTED, await turn())).toMatchObject({
    state: 'loading',
    loading: { state: 'loading', node: 'thor' },
  })
  await report('ready')
  expect(await other.want(WANTED, await turn())).toMatchObject({ state: 'ready', loading: null })
  await scene.db.transaction((tx) => tx.query('update demands set wanted_until = 0'))
  await turn()
  expect(await listDemands(scene.db)).toEqual([])
  expect(await rows()).toMatchObject([{ state: 'ready' }])
})

test('a load without a waiting client is given up', async () => {
  const { scene, cold, turn, rows, report } = await aScene()
  await cold.want(WANTED, await turn())
  await turn()
  await report('loading')
  await scene.db.transaction((tx) => tx.query('update demands set wanted_until = now_ms() - 1'))
  await turn()
  expect(await rows()).toMatchObject([{ state: 'stopping' }])
})

test('a model that there is not is not wanted, and one that serves neither', async () => {
  const { scene, cold, turn, report } = await aScene()
  const world = await turn()
  expect(await cold.want({ ...WANTED, model_name: 'made up' }, world)).toMatchObject({ state: 'unknown' })
  await report('ready')
  expect(await cold.want({ ...WANTED, model_name: 'm' }, await turn())).toMatchObject({ state: 'ready' })
  expect(await listDemands(scene.db)).toEqual([])
})
