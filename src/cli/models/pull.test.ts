import { describe, expect, test } from 'vitest'
import type { PullReport } from '../../api/reports.ts'
import { aCluster, aNodeView, flotilla, refused, type Answers, type Person } from '../../../test/support/cli/cli.ts'
import { startCommand } from '../../../test/support/cli/cli-running.ts'
import { aModelView } from '../../../test/support/cli/cli-views.ts'
import { until } from '../../../test/support/until.ts'

const [G1, G2] = ['0198c7a0-1111-7000-8000-000000000001', '0298c7a0-1111-7000-8000-000000000002']
const one = {
  'GET /api/models': [aModelView({ name: 'qwen' })],
  'GET /api/nodes': [aNodeView({ id: G1, name: 'gpu-1' })],
}
const two = { ...one, 'GET /api/nodes': [aNodeView({ id: G1, name: 'gpu-1' }), aNodeView({ id: G2, name: 'gpu-2' })] }
const PULL = `POST /api/nodes/${G1}/models/pull`

function aReport(fields: Partial<PullReport> = {}): PullReport {
  return { id: 'p1', state: 'running', progress: null, error: null, bytes: null, ...fields }
}

function far(done: number): PullReport {
  const progress = { file: 'q.gguf', done_bytes: done * 1e7, total_bytes: 1e9, bytes_per_s: 52_000_000 }
  return aReport({ progress })
}

/** One answer after another; the last one for ever. */
function inTurn(...answers: unknown[]): () => unknown {
  return () => (answers.length > 1 ? answers.shift() : answers[0])
}

async function pull(args: string[], answers: Answers, person: Person = {}) {
  const cluster = await aCluster(answers)
  const said = await flotilla(['models', 'pull', ...args, '--data', cluster.data], person)
  return { ...said, pulls: cluster.calls.filter((call) => Array.isArray(call)) }
}

describe('flotilla models pull', () => {
  test('waits until the files are there, asking about the pull that it began', async () => {
    const answers = { ...one, [PULL]: inTurn(aReport(), far(20), far(43), aReport({ state: 'done', bytes: 1e9 })) }
    const { code, stdout, stderr, pulls } = await pull(['qwen'], answers)
    expect([code, stdout]).toEqual([0, 'gpu-1: has the files of qwen, 953.7 MiB.\n'])
    expect(stderr).toBe(
      'gpu-1: fetching qwen\ngpu-1: fetching qwen, 20 % of 953.7 MiB\ngpu-1: fetching qwen, 40 % of 953.7 MiB\n',
    )
    expect(pulls.slice(0, 2)).toEqual([
      [PULL, { model_name: 'qwen' }],
      [PULL, { model_name: 'qwen', pull_id: 'p1' }],
    ])
  })

  test('shows a bar on a terminal, that fits its width', async () => {
    const answers = { ...one, [PULL]: inTurn(aReport(), far(43), aReport({ state: 'done', bytes: 1e9 })) }
    const { stderr } = await pull(['qwen'], answers, { terminal: { interactive: true } })
    expect(stderr).toContain('gpu-1 [##########..............] 43 % of 953.7 MiB, 52 MB/s\n')
    const narrow = await pull(
      ['qwen'],
      { ...one, [PULL]: inTurn(far(43), aReport({ state: 'done', bytes: 1 })) },
      {
        terminal: { interactive: true, columns: 20 },
      },
    )
    for (const line of narrow.stderr.split('\n')) expect(line.length).toBeLessThan(20)
  })

  test('of several nodes one has to be named, or all', async () => {
    const { code, stderr } = await pull(['qwen'], two)
    expect([code, stderr]).toEqual([
      2,
      'flotilla models pull: --node or --all is needed, for there are 2 nodes: gpu-1, gpu-2.\n',
    ])
    const both = await pull(['qwen', '--all', '--node', 'gpu-1'], two)
    expect([both.code, both.stderr]).toEqual([2, 'flotilla models pull: give --node or --all, not both.\n'])
    const answers = {
      ...two,
      [PULL]: inTurn(far(1), aReport({ state: 'done', bytes: 1e9 })),
      [`POST /api/nodes/${G2}/models/pull`]: inTurn(
        far(2),
        aReport({ state: 'failed', error: 'No room on the disk.' }),
      ),
    }
    const all = await pull(['qwen', '--node', 'gpu-1', '--node', 'gpu-2'], answers)
    expect([all.code, all.stdout]).toEqual([
      1,
      'gpu-1: has the files of qwen, 953.7 MiB.\ngpu-2: the files of qwen were not fetched: No room on the disk.\n',
    ])
  })

  test('a node that is away for a moment is waited for', async () => {
    const away = refused(503, 'unavailable', 'gpu-1 does not answer on the bus.')
    const answers = { ...one, [PULL]: inTurn(far(10), away, away, aReport({ state: 'done', bytes: 1e9 })) }
    expect(await pull(['qwen'], answers)).toMatchObject({ code: 0 })
    const gone = await pull(['qwen'], { ...one, [PULL]: inTurn(far(10), away) })
    expect([gone.code, gone.stdout]).toEqual([
      1,
      'gpu-1: the files of qwen were not fetched: gpu-1 does not answer on the bus.\n',
    ])
  })

  test('Ctrl-C stops the waiting, not the transfer', async () => {
    const cluster = await aCluster({ ...one, [PULL]: far(10) })
    const command = startCommand(['models', 'pull', 'qwen', '--data', cluster.data])
    await until(() => command.said.stderr.includes('10 %'))
    command.interrupt()
    expect(await command.ended).toMatchObject({ code: 130, stdout: '' })
    expect(command.said.stderr).toContain('still being fetched')
  })

  test('with --json each node is told with what it reported; a model without files needs none', async () => {
    const { stdout } = await pull(['qwen', '--json'], { ...one, [PULL]: aReport({ state: 'done', bytes: 5 }) })
    expect(JSON.parse(stdout)).toMatchObject([{ node: 'gpu-1', state: 'done', bytes: 5 }])
    const none = await pull(['qwen'], { ...one, [PULL]: aReport({ state: 'done', bytes: 0 }) })
    expect(none.stdout).toBe('gpu-1: qwen needs no files.\n')
  })
})
