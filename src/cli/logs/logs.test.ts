import { describe, expect, test } from 'vitest'
import { aNodeView, aReplicaView, flotilla, refused, type Person } from '../../../test/support/cli/cli.ts'
import type { Said } from '../../../test/support/cli/cli-command.ts'
import { LogCluster } from '../../../test/support/cli/cli-logs.ts'
import { aModelView } from '../../../test/support/cli/cli-views.ts'
import { timeText } from './line-writer.ts'

const [G1, G2] = ['0198c7a0-1111-7000-8000-000000000001', '0298c7a0-1111-7000-8000-000000000002']
const gpu1 = aNodeView({ id: G1, name: 'gpu-1' })
const gpu2 = aNodeView({ id: G2, name: 'gpu-2' })
const T0 = new Date().setHours(0, 0, 0, 0)

async function aLogCluster(): Promise<LogCluster> {
  const cluster = await new LogCluster().start()
  cluster.nodes = [gpu1, gpu2]
  return cluster
}

function logs(cluster: LogCluster, args: readonly string[], person: Person = {}): Promise<Said> {
  return flotilla(['logs', ...args, '--data', cluster.data], person)
}

const at = (ms: number): { at: number } => ({ at: T0 + ms })
const onGpu1 = aReplicaView({ model_name: 'qwen', node_id: G1 })
const onGpu2 = aReplicaView({ model_name: 'qwen', node_id: G2, replica_index: 1 })

describe('flotilla logs of a model', () => {
  test('merges all replicas on all nodes by time; each line names its replica and node, and stderr is marked', async () => {
    const cluster = await aLogCluster()
    cluster.replicas = [onGpu1, onGpu2]
    cluster.print(G1, 'qwen#0', 'loading', at(1))
    cluster.print(G1, 'other#0', 'not asked for', at(2))
    cluster.print(G2, 'qwen#1', 'loading too', at(2003))
    cluster.print(G1, 'qwen#0', 'no GPU', { ...at(4), stream: 'stderr' })
    expect(await logs(cluster, ['qwen'])).toEqual({
      code: 0,
      stderr: '',
      stdout:
        '00:00:00.001 qwen#0 gpu-1 | loading\n' +
        '00:00:00.004 qwen#0 gpu-1 ! no GPU\n' +
        '00:00:02.003 qwen#1 gpu-2 | loading too\n',
    })
  })

  test('on one node the node goes without saying', async () => {
    const cluster = await aLogCluster()
    cluster.replicas = [onGpu1, { ...onGpu1, replica_index: 1 }]
    cluster.print(G1, 'qwen#0', 'a', at(1))
    cluster.print(G1, 'qwen#1', 'b', at(2))
    expect((await logs(cluster, ['qwen'])).stdout).toBe('00:00:00.001 qwen#0 | a\n00:00:00.002 qwen#1 | b\n')
    expect((await logs(cluster, ['qwen#1'])).stdout).toBe('00:00:00.002 qwen#1 | b\n')
  })

  test('the lines of a node stay in order although its clock was set back', async () => {
    const cluster = await aLogCluster()
    cluster.replicas = [onGpu1, onGpu2]
    cluster.print(G1, 'qwen#0', 'first', at(50))
    cluster.print(G1, 'qwen#0', 'second', at(10))
    cluster.print(G2, 'qwen#1', 'between', at(20))
    const { stdout } = await logs(cluster, ['qwen'])
    expect(stdout.match(/first|second|between/g)).toEqual(['between', 'first', 'second'])
  })

  test('the key of a replica comes before a model of that name', async () => {
    const cluster = await aLogCluster()
    cluster.replicas = [
      aReplicaView({ model_name: 'a', replica_index: 1, node_id: G1 }),
      aReplicaView({ model_name: 'a#1', replica_index: 0, node_id: G2 }),
    ]
    cluster.print(G1, 'a#1', 'the replica')
    cluster.print(G2, 'a#1#0', 'the model')
    const { stdout } = await logs(cluster, ['a#1'])
    expect(stdout).toContain('the replica')
    expect(stdout).not.toContain('the model')
    expect((await logs(cluster, ['a#1#0'])).stdout).toContain('the model')
  })

  test.each(['船/団 #%41?&=+', 'a b', '%2F', 'ünï🚢'])('a model may be called %s', async (name) => {
    const cluster = await aLogCluster()
    cluster.replicas = [aReplicaView({ model_name: name, node_id: G1 })]
    cluster.print(G1, `${name}#0`, 'here')
    expect((await logs(cluster, [name])).stdout).toContain('| here')
    expect((await logs(cluster, [`${name}#0`, '--json'])).stdout).toContain(`"replica":${JSON.stringify(`${name}#0`)}`)
  })

  test('what an engine prints cannot move the cursor', async () => {
    const cluster = await aLogCluster()
    cluster.replicas = [onGpu1]
    cluster.print(G1, 'qwen#0', '\u001B[2J\u001B[31mred\u001B[0m\r', at(0))
    expect((await logs(cluster, ['qwen'])).stdout).toBe('00:00:00.000 qwen#0 | red\n')
  })

  test('colours tell replicas apart where there are colours', async () => {
    const cluster = await aLogCluster()
    cluster.replicas = [onGpu1]
    cluster.print(G1, 'qwen#0', 'x')
    cluster.print(G1, 'qwen#1', 'y', { stream: 'stderr' })
    const { stdout } = await logs(cluster, ['qwen'], { terminal: { colour: true } })
    expect(stdout).toContain('\u001B[36mqwen#0\u001B[39m')
    expect(stdout).toContain('\u001B[32mqwen#1\u001B[39m \u001B[31m!\u001B[39m y')
  })

  test('--json prints an object a line, with what this version does not know', async () => {
    const cluster = await aLogCluster()
    cluster.replicas = [onGpu1]
    const later = { ...at(1), later: 1 }
    cluster.print(G1, 'qwen#0', 'a', later)
    cluster.print(G1, 'qwen#0', 'b\u001B[0m', at(2))
    const printed = (await logs(cluster, ['qwen', '--json'])).stdout.trimEnd().split('\n')
    expect(printed.map((line): unknown => JSON.parse(line))).toEqual([
      { node: 'gpu-1', seq: 1, at: T0 + 1, replica: 'qwen#0', stream: 'stdout', text: 'a', later: 1 },
      { node: 'gpu-1', seq: 2, at: T0 + 2, replica: 'qwen#0', stream: 'stdout', text: 'b\u001B[0m' },
    ])
  })
})

describe('which lines', () => {
  async function aLongLog(): Promise<LogCluster> {
    const cluster = await aLogCluster()
    cluster.replicas = [onGpu1, onGpu2]
    for (let i = 0; i < 10; i += 1) {
      cluster.print(i % 2 ? G1 : G2, `qwen#${(i + 1) % 2}`, `line ${i}`, {
        ...at(i),
        stream: i < 5 ? 'stderr' : 'stdout',
      })
    }
    return cluster
  }

  test.each([
    [
      ['--lines', '3'],
      ['7', '8', '9'],
    ],
    [['-n', '1'], ['9']],
    [
      ['--stream', 'stderr', '-n2'],
      ['3', '4'],
    ],
    [['--grep', 'LINE 7'], ['7']],
    [
      ['--node', 'gpu-2', '--after', '3'],
      ['6', '8'],
    ],
    [['--node', 'gpu-2', '--after', '3', '--lines', '1'], ['6']],
    [
      ['--node', 'gpu-2', '--node', 'gpu-1', '-n', '2'],
      ['8', '9'],
    ],
  ])('%j', async (args, expected) => {
    const { code, stdout } = await logs(await aLongLog(), ['qwen', ...args])
    expect({ code, lines: stdout.match(/\d$/gm) }).toEqual({ code: 0, lines: expected })
  })

  test('no line is worth a word', async () => {
    const cluster = await aLongLog()
    expect(await logs(cluster, ['qwen', '--grep', 'never'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'No line of qwen is like what was asked for.\n',
    })
    cluster.replicas.push(aReplicaView({ model_name: 'new', node_id: G1 }))
    expect(await logs(cluster, ['new'])).toMatchObject({ code: 0, stderr: 'new has not written a line yet.\n' })
  })

  test.each([
    [['--lines', 'many'], 'flotilla logs: --lines: expected a whole number up to 10000, got "many".'],
    [['--lines', '10001'], 'flotilla logs: --lines: expected a whole number up to 10000, got "10001".'],
    [['--after', '-1'], 'flotilla logs: --after: expected a whole number, got "-1".'],
    [['--stream', 'err'], 'flotilla logs: --stream: expected stdout or stderr, got "err".'],
    [['--grep', 'x'.repeat(501)], 'flotilla logs: --grep: expected at most 500 characters.'],
    [['--after', '3'], 'each node numbers its lines by itself: add --node gpu-1 or gpu-2 to --after.'],
  ])('%j is refused', async (args, message) => {
    const said = await logs(await aLongLog(), ['qwen', ...args])
    expect(said).toMatchObject({ code: 2, stdout: '' })
    expect(said.stderr).toContain(message)
  })

  test('a line of another day has its date', () => {
    const noon = new Date(2026, 9, 6, 12, 3, 4, 56).getTime()
    expect(timeText(noon, noon + 1000)).toBe('12:03:04.056')
    expect(timeText(noon, noon + 86_400_000)).toBe('10-06 12:03:04.056')
  })
})

describe('what is not there', () => {
  test('logs of what no longer runs are found', async () => {
    const cluster = await aLogCluster()
    cluster.print(G2, 'old#3', 'last words', at(0))
    expect(await logs(cluster, ['old'])).toMatchObject({ code: 0, stdout: '00:00:00.000 old#3 | last words\n' })
    expect(await logs(cluster, ['old#3'])).toMatchObject({ code: 0, stdout: '00:00:00.000 old#3 | last words\n' })
  })

  test.each([
    ['qwne', 'There are no logs of "qwne". Did you mean qwen?'],
    ['qwen#7', 'There are no logs of "qwen#7". Did you mean qwen#0 or qwen?'],
    ['gpt-4o', 'There are no logs of "gpt-4o". There are logs of qwen.'],
    ['idle', 'idle has no logs on any node that is there: nothing of it has run there.'],
  ])('%s', async (wanted, stderr) => {
    const cluster = await aLogCluster()
    cluster.models = [aModelView({ name: 'idle' }), aModelView({ name: 'qwen' })]
    cluster.replicas = [onGpu1]
    cluster.print(G1, 'qwen#0', 'x')
    expect(await logs(cluster, [wanted])).toEqual({ code: 1, stdout: '', stderr: `${stderr}\n` })
  })

  test('in a cluster where nothing has run there is nothing', async () => {
    const cluster = await aLogCluster()
    expect((await logs(cluster, ['qwen'])).stderr).toBe(
      'There are no logs of "qwen". There are no logs at all: no engine has been started.\n',
    )
    expect(await logs(cluster, [])).toMatchObject({
      code: 0,
      stdout: 'There are no logs yet: no engine has been started.\n',
    })
  })

  test('a wrong node is told apart from a wrong model', async () => {
    const cluster = await aLogCluster()
    cluster.models = [aModelView({ name: 'qwen' })]
    cluster.replicas = [onGpu1]
    cluster.print(G1, 'qwen#0', 'x')
    expect(await logs(cluster, ['qwen', '--node', 'gpu-3'])).toMatchObject({
      code: 1,
      stderr: 'There is no node "gpu-3". Did you mean gpu-1 or gpu-2?\n',
    })
    expect((await logs(cluster, ['qwen', '--node', 'gpu-2'])).stderr).toBe(
      'qwen has no logs on gpu-2: nothing of it has run there.\n',
    )
  })

  test('a node that does not answer spoils nothing for the others, but the exit code tells', async () => {
    const cluster = await aLogCluster()
    cluster.replicas = [onGpu1, onGpu2]
    cluster.print(G1, 'qwen#0', 'here', at(0))
    cluster.away.set(G2, refused(503, 'unavailable', 'gpu-2 cannot be reached.'))
    expect(await logs(cluster, ['qwen'])).toEqual({
      code: 1,
      stdout: '00:00:00.000 qwen#0 gpu-1 | here\n',
      stderr: 'gpu-2: gpu-2 cannot be reached.\n',
    })
    cluster.away.set(G1, refused(503, 'unavailable', 'gpu-1 cannot be reached.'))
    expect(await logs(cluster, ['qwen'])).toEqual({ code: 1, stdout: '', stderr: 'gpu-1 cannot be reached.\n' })
  })

  test('nodes that are offline, wait for approval or run nothing are not asked', async () => {
    const cluster = await aLogCluster()
    cluster.nodes = [
      gpu1,
      aNodeView({ id: 'off', liveness: 'offline' }),
      aNodeView({ id: 'new', approved: false }),
      aNodeView({ id: 'agent', node_type: 'agent' }),
    ]
    await logs(cluster, [])
    expect(cluster.asked).toEqual(['/api/nodes', `/api/nodes/${G1}/backend-logs`])
  })
})

test('without a model it lists what has logs', async () => {
  const cluster = await aLogCluster()
  cluster.print(G1, 'qwen#0', 'a', { at: Date.now() - 90_000 })
  cluster.print(G1, 'qwen#1', 'b', { at: Date.now() - 90_000 })
  cluster.print(G2, 'a/b c#0', 'c', { at: Date.now() - 5.5 * 60_000 })
  const { code, stdout } = await logs(cluster, [])
  expect(code).toBe(0)
  expect(stdout).toBe(
    'MODEL  NODE   REPLICAS  LINES    LAST\n' +
      'a/b c  gpu-2  #0            1  5m ago\n' +
      'qwen   gpu-1  #0 #1         2  1m ago\n',
  )
  const json = JSON.parse((await logs(cluster, ['--json', '--node', 'gpu-2'])).stdout) as unknown
  expect(json).toMatchObject([{ node_id: G2, node: 'gpu-2', models: [{ model_name: 'a/b c' }] }])
})
