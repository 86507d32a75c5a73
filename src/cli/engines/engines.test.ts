import { describe, expect, test } from 'vitest'
import { aNodeView, aReplicaView, refused, type Person } from '../../../test/support/cli/cli.ts'
import { G1, G2, list, operation, post, progress, run, SHA, vllm } from '../../../test/support/cli/cli-engines.ts'
import { aModelView, anEngineView } from '../../../test/support/cli/cli-views.ts'

describe('flotilla engines', () => {
  test('lists engine × node, with nodes where it is the same on one line, and wraps reasons beside the names', async () => {
    const broken = 'mistake in /etc/flotilla/engines/mine.yaml: command.0: expected a text, got a number in line 7'
    const { code, stdout } = await run([], {
      [list(G1)]: [
        anEngineView({ version: SHA }),
        vllm,
        anEngineView({ name: 'mine', state: 'broken', reason: broken }),
      ],
      [list(G2)]: [anEngineView({ state: 'installing', operation: operation({ progress: progress(430) }) }), vllm],
    })
    expect(code).toBe(0)
    expect(stdout).toBe(
      'ENGINE        NODE   STATE\n' +
        'llama-server  gpu-1  available, version 3fa9c1d2e4f5\n' +
        'llama-server  gpu-2  installing 43 % of 1000.0 MiB, 52 MB/s\n' +
        'mine          gpu-1  broken: mistake in /etc/flotilla/engines/mine.yaml:\n' +
        '                     command.0: expected a text, got a number in line 7\n' +
        'vllm          all 2  missing: there is no program vllm in PATH\n',
    )
  })

  test('of a node that fails the others are shown', async () => {
    const { code, stdout, stderr } = await run([], { [list(G2)]: refused(503, 'unavailable', 'It is away.') })
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'gpu-2: It is away.\n' })
    expect(stdout).toContain('vllm          gpu-1  missing')
    const json = JSON.parse(
      (await run(['--json'], { [list(G2)]: refused(503, 'unavailable', 'Away.') })).stdout,
    ) as unknown
    expect(json).toMatchObject([
      { node: 'gpu-1', node_id: G1, backends: [{ name: 'llama-server' }, vllm] },
      { node: 'gpu-2', error: { code: 'unavailable', message: 'Away.' } },
    ])
  })

  test('with many nodes and long names it stays within 80 columns', async () => {
    const many = Array.from({ length: 12 }, (_, i) => aNodeView({ id: `n${i}`, name: `rack-${i}-of-the-cellar` }))
    const answers = Object.fromEntries(
      many.map(({ id }, i) => [
        list(id),
        [
          anEngineView({
            name: 'text-embeddings-inference',
            state: 'missing',
            reason: i % 2 ? 'no program' : 'x '.repeat(90),
          }),
        ],
      ]),
    )
    const { stdout } = await run([], { ...answers, 'GET /api/nodes': many })
    for (const line of stdout.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80)
    expect(stdout).toContain('+5')
  })

  test('show tells everything, node by node', async () => {
    const done = operation({ kind: 'upgrade', state: 'failed', error: 'no space left', stopped: ['qwen#0'] })
    const { stdout } = await run(['show', 'llama-server'], {
      [list(G1)]: [anEngineView({ version: SHA, operation: done })],
    })
    expect(stdout).toBe(
      'llama-server\n\ngpu-1  available\n' +
        '  Profile    built-in\n' +
        `  Version    ${SHA}\n` +
        '  Serves     /v1/chat/completions, /v1/models\n' +
        '  Last done  upgrade failed: no space left\n' +
        '             stopped for it: qwen#0\n' +
        '\ngpu-2  available\n' +
        '  Profile    built-in\n' +
        '  Serves     /v1/chat/completions, /v1/models\n',
    )
    expect(await run(['show', 'vlm', '--node', 'gpu-1'])).toMatchObject({
      code: 1,
      stderr: 'There is no engine "vlm". Did you mean vllm?\n',
    })
  })
})

describe('flotilla engines delete', () => {
  const deleted = operation({ kind: 'delete', state: 'done', stopped: ['qwen#0'] })
  const answers = {
    'GET /api/models': [aModelView(), aModelView({ name: 'other', engine: 'sim' })],
    'GET /api/replicas': [
      aReplicaView({ model_name: 'qwen', node_id: G1 }),
      aReplicaView({ model_name: 'other', node_id: G1 }),
      aReplicaView({ model_name: 'qwen', node_id: G2 }),
    ],
    [post(G1, 'delete')]: anEngineView({ state: 'missing', operation: deleted }),
  }

  test('asks first and names what will stop', async () => {
    const asked: string[] = []
    const answering = (text: string): Person => ({
      terminal: { interactive: true, ask: async (question: string) => (asked.push(question), text) },
    })
    const yes = await run(['delete', 'llama-server', '--node', 'gpu-1'], answers, answering('y'))
    expect(yes).toMatchObject({
      code: 0,
      stderr: 'These replicas stop first: qwen#0 on gpu-1.\n',
      stdout: 'gpu-1: llama-server is deleted.\n  stopped for it: qwen#0\n',
      changes: [[post(G1, 'delete'), { engine: 'llama-server' }]],
    })
    expect(asked).toEqual(['Delete llama-server from gpu-1? [y/N] '])
    const no = await run(['delete', 'llama-server', '--all'], answers, answering(''))
    expect(no).toMatchObject({ code: 1, changes: [] })
    expect(no.stderr).toBe('These replicas stop first: qwen#0 on gpu-1, qwen#0 on gpu-2.\nNothing was deleted.\n')
    const unused = await run(['delete', 'vllm', '--all'], answers, answering('n'))
    expect(unused.stderr).toContain('No replica uses it.')
  })

  test('without a terminal it needs --yes', async () => {
    expect(await run(['delete', 'llama-server', '--node', 'gpu-1'], answers)).toMatchObject({
      code: 2,
      changes: [],
      stderr: 'flotilla engines delete: not a terminal: add --yes to delete llama-server.\n',
    })
    const sure = await run(['delete', 'llama-server', '--node', 'gpu-1', '--yes'], answers)
    expect(sure).toMatchObject({ code: 0, changes: [[post(G1, 'delete'), { engine: 'llama-server' }]] })
  })

  test('when a replica survives nothing is deleted, and both are told', async () => {
    const failed = operation({ kind: 'delete', state: 'failed', error: 'qwen#1 does not end.', stopped: ['qwen#0'] })
    const said = await run(['delete', 'llama-server', '--node', 'gpu-1', '--yes'], {
      [post(G1, 'delete')]: anEngineView({ operation: failed }),
    })
    expect(said).toMatchObject({
      code: 1,
      stdout: 'gpu-1: llama-server was not deleted: qwen#1 does not end.\n  stopped for it: qwen#0\n',
    })
  })
})
