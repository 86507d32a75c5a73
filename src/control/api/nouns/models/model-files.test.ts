import { describe, expect, test } from 'vitest'
import { AppError } from '../../../../platform/errors.ts'
import { listEvents } from '../../../../store/nouns/events.ts'
import { listReplicas } from '../../../../store/nouns/replicas.ts'
import { aStage } from '../../../../../test/support/control/admin-stage.ts'
import { aReport } from '../../../../../test/support/builders.ts'
import type { Answer } from '../../../../../test/support/control/control-scene.ts'
import { until } from '../../../../../test/support/until.ts'
import { VirtualClock } from '../../../../../test/support/virtual-clock.ts'

async function aFilesStage() {
  const stage = await aStage()
  const { scene, thor } = stage
  const [row] = await listReplicas(scene.db)
  const { id, generation } = row!
  await scene.heartbeat(thor, [aReport({ id, generation })])
  const deleteFiles = (model = 'm') =>
    scene.admin<{ error: { message: string; code: string } }>('POST', `/api/nodes/${thor.nodeId}/models/delete`, {
      model_name: model,
    })
  const freeOfRules = () => scene.admin('DELETE', '/api/nodes/scheduling/m')
  const goneSoon = () => scene.heartbeat(thor, [])
  return { ...stage, id, generation, deleteFiles, freeOfRules, goneSoon }
}

const errorOf = ({ status, body }: Answer<{ error: { message: string } }>) => [status, body.error.message]

describe('deleting the files of a model', () => {
  test('unloads it, waits until its rows are gone, deletes, and tells of it', async () => {
    const { scene, thor, id, generation, deleteFiles, freeOfRules, goneSoon } = await aFilesStage()
    await freeOfRules()
    scene.worker.script.replicaStop = () => ({ replicas: [{ id, generation, key: 'm#0', gone: true }] })
    scene.worker.script.modelDelete = async () => {
      expect(await listReplicas(scene.db)).toEqual([])
      return { files: 3, freed_bytes: 42 }
    }
    const answer = deleteFiles()
    await until(async () => (await listReplicas(scene.db))[0]?.state === 'draining')
    await goneSoon()
    expect(await answer).toMatchObject({ status: 200, body: { files: 3, freed_bytes: 42 } })
    expect(scene.worker.told('replicaStop')).toMatchObject([{ target: { what: 'model' }, wait_ms: 30_000 }])
    expect(scene.worker.told('modelDelete')).toMatchObject([{ model_name: 'm', command_id: expect.any(String) }])
    expect((await listEvents(scene.db, 0, 1000)).at(-1)).toMatchObject({
      action: 'model.files_deleted',
      actor: 'admin',
      node_id: thor.nodeId,
      data: { files: 3, freed_bytes: 42 },
    })
  })

  test('is refused, and nothing is touched, when a rule would start it there again', async () => {
    const { scene, thor, deleteFiles } = await aFilesStage()
    expect(errorOf(await deleteFiles())).toEqual([
      409,
      'The rule of "m" would start it on thor again, and fetch its files anew. Remove or lower the rule, or drain thor, and try again.',
    ])
    expect(await listReplicas(scene.db)).toMatchObject([{ state: 'ready' }])
    expect(scene.worker.asked).toEqual([])
    await scene.admin('POST', `/api/nodes/${thor.nodeId}/drain`)
    scene.worker.script.replicaStop = async () => {
      await scene.heartbeat(thor, [])
      return { replicas: [] }
    }
    expect((await deleteFiles()).status).toBe(200)
  })

  test('says that the worker is away; its replicas end when it is back', async () => {
    const { scene, deleteFiles, freeOfRules } = await aFilesStage()
    await freeOfRules()
    scene.worker.leave()
    expect(errorOf(await deleteFiles())).toEqual([
      503,
      expect.stringMatching(/^thor does not answer.*m#0 will be stopped/),
    ])
    expect(await listReplicas(scene.db)).toMatchObject([{ state: 'draining' }])
    expect(errorOf(await deleteFiles('other'))).toEqual([503, expect.stringContaining('thor does not answer')])
  })

  test('gives up when a replica does not end, and deletes nothing', async () => {
    const { scene, id, generation, deleteFiles, freeOfRules } = await aFilesStage()
    await freeOfRules()
    const clock = new VirtualClock(Date.now())
    scene.deps.clock = clock
    scene.worker.script.replicaStop = () => ({ replicas: [{ id, generation, key: 'm#0', gone: false }] })
    let answer: Answer<{ error: { message: string } }> | undefined
    void deleteFiles().then((given) => (answer = given))
    await until(async () => {
      await clock.advance(1000)
      return answer !== undefined
    })
    expect(errorOf(answer!)).toEqual([409, expect.stringMatching(/^m#0 on thor is still being stopped. No files/)])
    expect(scene.worker.told('modelDelete')).toEqual([])
  })

  test('what the worker refuses is the answer, and no event', async () => {
    const { scene, deleteFiles } = await aFilesStage()
    scene.worker.script.modelDelete = () => {
      throw new AppError('conflict', 'The files of other are in use.')
    }
    expect(errorOf(await deleteFiles('other'))).toEqual([409, 'The files of other are in use.'])
    const actions = (await listEvents(scene.db, 0, 1000)).map(({ action }) => action)
    expect(actions).not.toContain('model.files_deleted')
  })
})
