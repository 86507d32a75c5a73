import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aNodeView, aReplicaView, refused } from '../../../test/support/cli/cli.ts'
import { LogCluster } from '../../../test/support/cli/cli-logs.ts'
import { startCommand, type RunningCommand } from '../../../test/support/cli/cli-running.ts'
import { aModelView } from '../../../test/support/cli/cli-views.ts'
import { until } from '../../../test/support/until.ts'

const [G1, G2] = ['0198c7a0-1111-7000-8000-000000000001', '0298c7a0-1111-7000-8000-000000000002']

/** One replica of qwen on gpu-1; gpu-2 has none yet. */
async function aLogCluster(): Promise<LogCluster> {
  const cluster = await new LogCluster().start()
  cluster.nodes = [aNodeView({ id: G1, name: 'gpu-1' }), aNodeView({ id: G2, name: 'gpu-2' })]
  cluster.replicas = [aReplicaView({ model_name: 'qwen', node_id: G1 })]
  return cluster
}

function follow(cluster: LogCluster, ...args: string[]): RunningCommand {
  return startCommand(['logs', 'qwen', '-f', ...args, '--data', cluster.data])
}

const texts = ({ said }: RunningCommand): string[] => said.stdout.match(/(?<=[|!] ).*$/gm) ?? []

describe('flotilla logs -f', () => {
  test('shows what there is, then what comes, each line once, and ends well at Ctrl-C', async () => {
    const cluster = await aLogCluster()
    cluster.print(G1, 'qwen#0', 'before')
    const running = follow(cluster)
    await until(() => cluster.followers(G1) === 1)
    cluster.print(G1, 'qwen#0', 'after')
    cluster.print(G1, 'other#0', 'of another')
    cluster.print(G1, 'qwen#1', 'of a replica that started later')
    await until(() => texts(running).length === 3)
    running.interrupt()
    expect(await running.ended).toMatchObject({ code: 0, stderr: '' })
    expect(texts(running)).toEqual(['before', 'after', 'of a replica that started later'])
    await until(() => cluster.followers(G1) === 0)
  })

  test.each([
    [
      ['--lines', '1'],
      ['2', 'new'],
    ],
    [['--lines', '0'], ['new']],
    [
      ['--after', '1'],
      ['2', 'new'],
    ],
    [
      ['--grep', 'N', '--stream', 'stdout'],
      ['one', 'new'],
    ],
  ])('%j', async (args, expected) => {
    const cluster = await aLogCluster()
    cluster.print(G1, 'qwen#0', 'one')
    cluster.print(G1, 'qwen#0', '2', { stream: 'stderr' })
    const running = follow(cluster, ...args)
    await until(() => cluster.followers(G1) === 1)
    cluster.print(G1, 'qwen#0', 'never', { stream: 'stderr', text: args[0] === '--grep' ? 'never' : 'new' })
    if (args[0] === '--grep') cluster.print(G1, 'qwen#0', 'new')
    await until(() => texts(running).at(-1) === 'new')
    expect(texts(running)).toEqual(expected)
  })

  test.each([
    ['cut', 'The stream broke off (it ended the connection)'],
    ['end', 'The stream ended'],
  ] as const)('a stream that is %s goes on where it was; a person is told', async (how, reason) => {
    const cluster = await aLogCluster()
    cluster.print(G1, 'qwen#0', '1')
    const running = follow(cluster)
    await until(() => cluster.followers(G1) === 1)
    cluster.print(G1, 'qwen#0', '2')
    await until(() => texts(running).length === 2)
    cluster.away.set(G1, refused(503, 'unavailable', 'gpu-1 cannot be reached now.'))
    cluster.cut(G1, how)
    await until(() => running.said.stderr.includes('Trying again'))
    expect(running.said.stderr).toBe(`gpu-1: ${reason}. Trying again every 2 s.\n`)
    cluster.print(G1, 'qwen#0', '3')
    cluster.away.clear()
    await until(() => running.said.stderr.includes('gpu-1 is back.\n'))
    cluster.print(G1, 'qwen#0', '4')
    await until(() => texts(running).length === 4)
    expect(texts(running)).toEqual(['1', '2', '3', '4'])
    // However often it was tried, it is said once.
    expect(running.said.stderr.match(/Trying again/g)).toHaveLength(1)
  })

  test('whatever happens to connections, each line comes once and in order', async () => {
    const step = fc.constantFrom('print', 'print', 'cut', 'end', 'wait')
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        const cluster = await aLogCluster()
        const running = follow(cluster)
        await until(() => cluster.followers(G1) === 1)
        let printed = 0
        for (const what of [...steps, 'print']) {
          if (what === 'print') cluster.print(G1, 'qwen#0', String(printed++))
          else if (what === 'wait') await until(() => texts(running).length === printed)
          else cluster.cut(G1, what as 'cut' | 'end')
        }
        await until(() => texts(running).length >= printed)
        running.interrupt()
        await running.ended
        expect(texts(running)).toEqual(Array.from({ length: printed }, (_, i) => String(i)))
      }),
      { numRuns: 15 },
    )
  })

  test('a node that gets a replica later joins in; from then on lines name their node', async () => {
    const cluster = await aLogCluster()
    cluster.print(G1, 'qwen#0', 'a')
    const running = follow(cluster)
    await until(() => cluster.followers(G1) === 1)
    cluster.replicas = [...cluster.replicas, aReplicaView({ model_name: 'qwen', node_id: G2, replica_index: 1 })]
    cluster.print(G2, 'qwen#1', 'b')
    await until(() => texts(running).length === 2)
    expect(running.said.stderr).toBe('gpu-2 has a replica of it now.\n')
    expect(running.said.stdout).toMatch(/qwen#0 \| a\n.*qwen#1 gpu-2 \| b\n/)
  })

  test('with --node no other node joins in', async () => {
    const cluster = await aLogCluster()
    follow(cluster, '--node', 'gpu-1')
    await until(() => cluster.followers(G1) === 1)
    cluster.replicas = [...cluster.replicas, aReplicaView({ model_name: 'qwen', node_id: G2, replica_index: 1 })]
    const asked = cluster.asked.length
    await until(() => cluster.asked.slice(asked).filter((path) => path === '/api/replicas').length > 2)
    expect(cluster.followers(G2)).toBe(0)
  })

  test('a model that has not run yet is waited for', async () => {
    const cluster = await aLogCluster()
    const later = cluster.replicas
    cluster.replicas = []
    cluster.models = [aModelView({ name: 'qwen' })]
    const running = follow(cluster)
    await until(() => running.said.stderr === 'qwen has no logs yet; waiting for its first replica.\n')
    cluster.replicas = later
    await until(() => cluster.followers(G1) === 1)
    cluster.print(G1, 'qwen#0', 'here I am')
    await until(() => texts(running).length === 1)
    running.interrupt()
    expect(await running.ended).toMatchObject({ code: 0 })
  })

  test('lines that were dropped are told', async () => {
    const cluster = await aLogCluster()
    const running = follow(cluster)
    await until(() => cluster.followers(G1) === 1)
    cluster.send(
      G1,
      'event: skipped\ndata: {"lines":12}\n\nevent: skipped\ndata: {"lines":null}\n\nevent: new\ndata: 1\n\n',
    )
    cluster.print(G1, 'qwen#0', 'after them')
    await until(() => texts(running).length === 1)
    expect(running.said.stderr).toBe(
      'gpu-1: 12 lines were dropped before they could be read.\ngpu-1: lines were dropped before they could be read.\n',
    )
  })

  test('who reads slowly gets everything, later', async () => {
    const cluster = await aLogCluster()
    const { promise, resolve } = Promise.withResolvers<void>()
    let isFull = false
    const running = startCommand(['logs', 'qwen', '-f', '--data', cluster.data], {
      taken: () => (isFull ? promise : undefined),
    })
    await until(() => cluster.followers(G1) === 1)
    isFull = true
    for (let i = 0; i < 50; i += 1) cluster.print(G1, 'qwen#0', String(i))
    await until(() => texts(running).length === 1)
    isFull = false
    resolve()
    await until(() => texts(running).length === 50)
    isFull = true
    cluster.print(G1, 'qwen#0', 'last')
    await until(() => texts(running).length === 51)
    running.interrupt()
    expect(await running.ended).toMatchObject({ code: 0 })
  })

  test('a key that no longer counts ends it', async () => {
    const cluster = await aLogCluster()
    const running = follow(cluster)
    await until(() => cluster.followers(G1) === 1)
    cluster.key = 'another'
    cluster.cut(G1)
    expect(await running.ended).toMatchObject({ code: 1 })
    expect(running.said.stderr).toContain('does not accept the admin key')
  })

  test('it is refused at once where there is nothing to follow', async () => {
    const cluster = await aLogCluster()
    const unknown = await startCommand(['logs', 'qwne', '-f', '--data', cluster.data]).ended
    expect(unknown).toMatchObject({ code: 1, stdout: '' })
    const nameless = await startCommand(['logs', '-f', '--data', cluster.data]).ended
    expect(nameless).toMatchObject({ code: 2, stderr: 'flotilla logs: which model is to be followed?\n' })
    const away = await startCommand(['logs', 'qwen', '-f', '--url', 'http://127.0.0.1:1', '--key', 'k']).ended
    expect(away).toMatchObject({ code: 1, stderr: expect.stringContaining('nothing listens there.') as string })
  })
})

describe('as a process', () => {
  const main = fileURLToPath(new URL('../../main.ts', import.meta.url))

  test('Ctrl-C ends it with 0, and nothing that was printed is lost', async () => {
    const cluster = await aLogCluster()
    for (let i = 0; i < 5000; i += 1) cluster.print(G1, 'qwen#0', `${i} ${'x'.repeat(100)}`)
    const child = spawn(process.execPath, [main, 'logs', 'qwen', '-f', '--data', cluster.data])
    let stdout = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => void (stdout += chunk))
    await until(() => cluster.followers(G1) === 1)
    cluster.print(G1, 'qwen#0', 'the last one')
    await until(() => stdout.includes('the last one'))
    child.kill('SIGINT')
    const [code] = (await once(child, 'close')) as [number]
    expect({ code, lines: stdout.trimEnd().split('\n').length }).toEqual({ code: 0, lines: 5001 })
  })

  test('a pipe that is closed early ends it quietly', async () => {
    const cluster = await aLogCluster()
    for (let i = 0; i < 5000; i += 1) cluster.print(G1, 'qwen#0', `${i} ${'x'.repeat(100)}`)
    const line = `'${process.execPath}' '${main}' logs qwen -f --data '${cluster.data}' | head -n 2; echo "\${PIPESTATUS[0]}"`
    const { stdout, stderr } = await promisify(execFile)('bash', ['-c', line])
    expect(stdout).toMatch(/^\S+ qwen#0 \| 0 x+\n\S+ qwen#0 \| 1 x+\n0\n$/)
    expect(stderr).toBe('')
  })
})
