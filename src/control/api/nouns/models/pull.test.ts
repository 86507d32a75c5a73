import { describe, expect, test } from 'vitest'
import { AppError } from '../../../../platform/errors.ts'
import { listEvents } from '../../../../store/nouns/events.ts'
import { aStage } from '../../../../../test/support/control/admin-stage.ts'

async function aPullStage(source: string | null = 'https://mirror/m.gguf') {
  const stage = await aStage()
  const { scene, thor } = stage
  await scene.admin('PUT', '/api/models/m?later=true', {
    engine: 'llama',
    source,
    options: { mmproj: 'frontend:p.gguf' },
  })
  const pull = (body: object = {}, node = thor) =>
    scene.admin<{ id: string; error: { message: string } }>('POST', `/api/nodes/${node.nodeId}/models/pull`, {
      model_name: 'm',
      ...body,
    })
  return { ...stage, pull }
}

describe('fetching the files of a model to a node', () => {
  test('the worker gets the source with its options; it is told once, however often one asks how far it is', async () => {
    const { scene, thor, pull } = await aPullStage()
    const first = await pull()
    expect(first).toMatchObject({ status: 200, body: { state: 'running', progress: null } })
    const { id } = first.body
    expect(await pull({ pull_id: id })).toMatchObject({ status: 200, body: { id } })
    const command = {
      pull_id: id,
      model_name: 'm',
      source: 'https://mirror/m.gguf',
      options: { mmproj: 'frontend:p.gguf' },
    }
    expect(scene.worker.told('modelPull')).toEqual([command, command])
    const told = (await listEvents(scene.db, 0, 1000)).filter(({ action }) => action === 'model.pull')
    expect(told).toMatchObject([{ actor: 'admin', node_id: thor.nodeId, model_name: 'm', data: { pull_id: id } }])
  })

  test('models and nodes that are not there, nodes that are pending and what Ollama fetches are refused', async () => {
    const { loki, pull, scene } = await aPullStage('ollama:llama3')
    expect((await pull({ model_name: 'none' })).body.error.message).toBe('There is no model "none".')
    expect((await pull({}, loki)).body.error.message).toBe('loki is pending. Approve it first.')
    expect(await pull()).toMatchObject({ status: 409 })
    expect(scene.worker.told('modelPull')).toEqual([])
  })

  test('what the worker refuses is told in its words, and silence with its name', async () => {
    const { scene, pull } = await aPullStage()
    scene.worker.script.modelPull = () => {
      throw new AppError('busy', 'Too many.')
    }
    expect(await pull()).toMatchObject({ status: 429, body: { error: { message: 'Too many.' } } })
    scene.worker.leave()
    expect(await pull()).toMatchObject({ status: 503 })
    expect((await pull()).body.error.message).toContain('thor does not answer on the bus')
  })
})
