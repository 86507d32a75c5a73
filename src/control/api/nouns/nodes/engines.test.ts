import { describe, expect, test } from 'vitest'
import type { BackendView } from '../../../../api/admin/schemas.ts'
import { AppError } from '../../../../platform/errors.ts'
import { listEvents } from '../../../../store/nouns/events.ts'
import { aStage } from '../../../../../test/support/control/admin-stage.ts'
import { anApplicant } from '../../../../../test/support/control/control-scene.ts'

const verbs = ['install', 'upgrade', 'delete'] as const
const subjectOf = { install: 'engineInstall', upgrade: 'engineUpgrade', delete: 'engineDelete' } as const

describe.each(verbs)('asking a node to %s an engine', (verb) => {
  test('is passed to its worker with an id of its own, answered with what is under way, and told', async () => {
    const { scene, thor } = await aStage()
    const path = `/api/nodes/${thor.nodeId}/backends/${verb}`
    const answers = [1, 2].map(() => scene.admin<BackendView>('POST', path, { engine: 'vllm' }))
    const [first, second] = await Promise.all(answers)
    expect(first).toMatchObject({ status: 200, body: { name: 'vllm', operation: { kind: verb, state: 'running' } } })
    expect(first!.body.operation!.id).not.toBe(second!.body.operation!.id)
    expect(scene.worker.asked).toMatchObject([
      { name: subjectOf[verb], nodeId: thor.nodeId, message: { engine: 'vllm' } },
      { name: subjectOf[verb] },
    ])
    expect((await listEvents(scene.db, 0, 1000)).at(-1)).toMatchObject({
      actor: 'admin',
      action: `engine.${verb}`,
      node_id: thor.nodeId,
      reason: `thor was asked to ${verb} vllm`,
      data: { engine: 'vllm', operation_id: expect.any(String) },
    })
  })

  test('is refused where no worker could do it, without an event', async () => {
    const { scene, thor, loki } = await aStage()
    const agent = anApplicant('odin')
    await scene.register(agent, { node_type: 'agent' })
    await scene.admin('POST', `/api/nodes/${agent.nodeId}/approve`)
    const ask = async (nodeId: string) => {
      const path = `/api/nodes/${nodeId}/backends/${verb}`
      const { status, body } = await scene.admin<{ error: { message: string } }>('POST', path, { engine: 'vllm' })
      return [status, body.error.message]
    }
    expect(await ask('nobody')).toEqual([404, 'There is no node "nobody".'])
    expect(await ask(agent.nodeId)).toEqual([409, 'odin is an agent: it runs no engines.'])
    expect(await ask(loki.nodeId)).toEqual([409, 'loki is pending. Approve it first.'])
    scene.worker.script[subjectOf[verb]] = () => {
      throw new AppError('conflict', 'vllm is being installed already.')
    }
    expect(await ask(thor.nodeId)).toEqual([409, 'vllm is being installed already.'])
    scene.worker.leave()
    expect(await ask(thor.nodeId)).toEqual([
      503,
      expect.stringContaining('thor does not answer on the bus (it is online)'),
    ])
    const actions = (await listEvents(scene.db, 0, 1000)).map(({ action }) => action)
    expect(actions.filter((action) => action.startsWith('engine.'))).toEqual([])
  })
})

test('an archive or a command goes to the worker as it is, and into no event', async () => {
  const { scene, thor } = await aStage()
  const archive = { url: 'https://user:secret@host/vllm.tar.gz?sig=secret', sha256: 'a'.repeat(64) }
  const path = `/api/nodes/${thor.nodeId}/backends/install`
  await scene.admin('POST', path, { engine: 'vllm', archive })
  await scene.admin('POST', path, { engine: 'vllm', command: ['pip', 'install', '--token=secret'] })
  expect(scene.worker.told('engineInstall')).toMatchObject([
    { archive },
    { command: ['pip', 'install', '--token=secret'] },
  ])
  expect(JSON.stringify(await listEvents(scene.db, 0, 1000))).not.toContain('secret')
})
