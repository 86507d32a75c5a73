import { describe, expect, test } from 'vitest'
import { aCluster, aNodeView, aReplicaView, flotilla, refused, type Answers } from '../../../test/support/cli/cli.ts'
import { aModelView } from '../../../test/support/cli/cli-views.ts'

const [G1, G2] = ['0198c7a0-1111-7000-8000-000000000001', '0298c7a0-1111-7000-8000-000000000002']
const known: Answers = {
  'GET /api/nodes': [aNodeView({ id: G1, name: 'gpu-1' }), aNodeView({ id: G2, name: 'gpu-2' })],
  'GET /api/models': [aModelView()],
  'GET /api/replicas': [
    aReplicaView({ id: 'a', model_name: 'qwen', node_id: G1 }),
    aReplicaView({ id: 'b', model_name: 'qwen', node_id: G2, replica_index: 1, state: 'staging' }),
  ],
}

async function run(args: string[], answers: Answers = {}) {
  const cluster = await aCluster({ ...known, ...answers })
  const said = await flotilla(['models', ...args, '--data', cluster.data])
  const changes = cluster.calls.filter((call) => typeof call !== 'string')
  return { ...said, calls: cluster.calls, changes }
}

describe('flotilla models unload', () => {
  const unload = (id: string): string => `POST /api/nodes/${id}/models/unload`
  const stopped = (key: string, gone: boolean, kept = false) => ({
    replicas: [{ id: 'r', key, gone }],
    kept_by_rule: kept,
  })

  test.each([[['--all']], [[]]])('a whole model is unloaded with one call, wherever it runs %j', async (flags) => {
    const replicas = [
      { id: 'a', key: 'qwen#0', gone: true },
      { id: 'b', key: 'qwen#1', gone: false },
      { id: 'c', key: 'qwen#2', gone: true },
    ]
    const { code, stdout, changes } = await run(['unload', 'qwen', '--force', ...flags], {
      'POST /api/models/qwen/unload': { replicas, kept_by_rule: true },
    })
    expect(changes).toEqual([['POST /api/models/qwen/unload', { force: true }]])
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout:
        'gpu-1: qwen#0 is stopped.\ngpu-2: qwen#1 is stopping.\nqwen#2 is stopped.\n' +
        'A rule asks for qwen, so it will be started again.\n',
    })
  })

  test('one replica, only where it is', async () => {
    const { stdout, changes } = await run(['unload', 'qwen#1', '--all'], { [unload(G2)]: stopped('qwen#1', true) })
    expect(changes).toEqual([[unload(G2), { model_name: 'qwen', replica_index: 1, force: false }]])
    expect(stdout).toBe('gpu-2: qwen#1 is stopped.\n')
  })

  test('a model whose name looks like a key', async () => {
    const odd = aReplicaView({ model_name: 'a#1', node_id: G1 })
    const { changes } = await run(['unload', 'a#1', '--node', 'gpu-1'], {
      'GET /api/replicas': [odd],
      [unload(G1)]: { replicas: [], kept_by_rule: false },
    })
    expect(changes).toEqual([[unload(G1), { model_name: 'a#1', force: false }]])
  })

  test.each([
    [['unload', 'qwen#7', '--all'], 'There is no replica "qwen#7". Did you mean qwen#0 or qwen#1?'],
    [['unload', 'qwne', '--all'], 'There is no model "qwne". Did you mean qwen?'],
    [['unload', 'qwen#0', '--node', 'gpu-2'], 'qwen#0 is not on gpu-2: flotilla models show qwen tells where.'],
  ])('%j', async (args, stderr) => {
    expect(await run(args)).toMatchObject({ code: 1, changes: [], stderr: `${stderr}\n` })
  })

  test('what does not run is as it should be', async () => {
    const nothing = { replicas: [], kept_by_rule: false }
    expect(await run(['unload', 'qwen'], { 'POST /api/models/qwen/unload': nothing })).toMatchObject({
      code: 0,
      stdout: 'qwen has no replicas; nothing was unloaded.\n',
    })
  })

  test('a node that fails is told, and the exit code too', async () => {
    const said = await run(['unload', 'qwen', '--node', 'gpu-1', '--node', 'gpu-2'], {
      [unload(G1)]: stopped('qwen#0', true, true),
      [unload(G2)]: refused(503, 'unavailable', 'It is away.'),
    })
    expect(said.changes).toEqual([
      [unload(G1), { model_name: 'qwen', force: false }],
      [unload(G2), { model_name: 'qwen', force: false }],
    ])
    expect(said).toMatchObject({
      code: 1,
      stdout: 'gpu-1: qwen#0 is stopped.\ngpu-2: It is away.\nA rule asks for qwen, so it will be started again.\n',
    })
  })
})
