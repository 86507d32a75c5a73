import { describe, expect, test } from 'vitest'
import { aCluster, aNodeView, refused } from '../../../test/support/cli/cli.ts'
import {
  G1,
  G2,
  known,
  list,
  nodes,
  operation,
  post,
  progress,
  run,
  SHA,
  vllm,
} from '../../../test/support/cli/cli-engines.ts'
import { startCommand } from '../../../test/support/cli/cli-running.ts'

/** One answer after the other; the last one for ever. */
function inTurn(...answers: unknown[]): () => unknown {
  let i = 0
  return () => answers[Math.min(i++, answers.length - 1)]
}

describe('flotilla engines install', () => {
  test('waits, tells each tenth of the way, and how it ended on each node', async () => {
    const at = (done: number) => [{ ...vllm, state: 'installing', operation: operation({ progress: progress(done) }) }]
    const ended = [{ ...vllm, state: 'available', reason: null, version: SHA, operation: operation({ state: 'done' }) }]
    const failed = [
      { ...vllm, operation: operation({ state: 'failed', error: 'the archive is not the one expected' }) },
    ]
    const { code, stdout, stderr, changes } = await run(['install', 'vllm', '--all'], {
      [list(G1)]: inTurn([vllm], at(10), at(430), at(450), at(990), ended),
      [list(G2)]: inTurn([vllm], at(0), failed),
      [post(G1, 'install')]: { ...vllm, operation: operation() },
      [post(G2, 'install')]: { ...vllm, operation: operation() },
    })
    expect(changes).toEqual([
      [post(G1, 'install'), { engine: 'vllm' }],
      [post(G2, 'install'), { engine: 'vllm' }],
    ])
    expect(stderr.split('\n').filter((line) => line.startsWith('gpu-1'))).toEqual([
      'gpu-1: install vllm',
      'gpu-1: install vllm 0 % of 1000.0 MiB',
      'gpu-1: install vllm 40 % of 1000.0 MiB',
      'gpu-1: install vllm 90 % of 1000.0 MiB',
    ])
    expect(stdout).toBe(
      'gpu-1: vllm is installed, version 3fa9c1d2e4f5.\n' +
        'gpu-2: vllm was not installed: the archive is not the one expected\n',
    )
    expect(code).toBe(1)
  })

  test('on a terminal the progress is one line that fits', async () => {
    const lines: string[] = []
    const done = [{ ...vllm, operation: operation({ state: 'done' }) }]
    const cluster = await aCluster({
      ...known,
      [list(G1)]: inTurn([vllm], done),
      [list(G2)]: inTurn([vllm], [{ ...vllm, operation: operation({ progress: progress(100) }) }], done),
      [post(G1, 'install')]: { ...vllm, operation: operation({ progress: progress(500) }) },
      [post(G2, 'install')]: { ...vllm, operation: operation() },
    })
    const terminal = { interactive: true, columns: 42, live: (text: string) => void lines.push(text) }
    const { ended } = startCommand(['engines', 'install', 'vllm', '--all', '--data', cluster.data], terminal)
    expect((await ended).code).toBe(0)
    expect(lines).toEqual(['install vllm: gpu-1 50 %, gpu-2 …', 'gpu-2: install vllm 10 % of 1000.0 MiB, …', ''])
  })

  test('upgrade tells which replicas were stopped, and when it still cannot run', async () => {
    const stopped = operation({ kind: 'upgrade', state: 'done', stopped: ['qwen#0', '船/団 #1#0'] })
    const { code, stdout } = await run(['upgrade', 'vllm', '--node', 'gpu-1'], {
      [post(G1, 'upgrade')]: { ...vllm, operation: stopped },
    })
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout:
        'gpu-1: vllm is upgraded. It is missing: there is no program vllm in PATH\n' +
        '  stopped for it: qwen#0, 船/団 #1#0\n',
    })
  })

  test('--no-wait returns at once and says how to see more', async () => {
    const { stdout, calls, data } = await run(['install', 'vllm', '--node', 'gpu-1', '--no-wait'], {
      [post(G1, 'install')]: { ...vllm, operation: operation() },
    })
    expect(stdout).toBe(
      `gpu-1: install of vllm has begun.\n  flotilla engines show vllm --node gpu-1 --data ${data} shows how far it is.\n`,
    )
    expect(calls.filter((call) => call === list(G1))).toHaveLength(1)
  })

  test('an archive comes with its hash, a command after --', async () => {
    const answers = { [post(G1, 'install')]: { ...vllm, operation: operation({ state: 'done' }) } }
    const archive = ['--archive', 'https://x/y.tar.gz', '--sha256', SHA.toUpperCase()]
    expect((await run(['install', 'vllm', '--node', 'gpu-1', ...archive], answers)).changes).toEqual([
      [post(G1, 'install'), { engine: 'vllm', archive: { url: 'https://x/y.tar.gz', sha256: SHA } }],
    ])
    const command = ['--', 'pip', 'install', '--help', 'vllm']
    expect((await run(['install', 'vllm', '--node', 'gpu-1', ...command], answers)).changes).toEqual([
      [post(G1, 'install'), { engine: 'vllm', command: command.slice(1) }],
    ])
  })

  test('the only node need not be named; of several one must be', async () => {
    const done = { ...vllm, operation: operation({ state: 'done' }) }
    const answers = { [post(G1, 'install')]: done, 'GET /api/nodes': [nodes[0]] }
    expect((await run(['install', 'vllm'], answers)).changes).toEqual([[post(G1, 'install'), { engine: 'vllm' }]])
    expect(await run(['install', 'vllm'])).toMatchObject({
      code: 2,
      changes: [],
      stderr: 'flotilla engines install: --node or --all is needed, for there are 2 nodes: gpu-1, gpu-2.\n',
    })
  })

  test('what a command that installs says is told as it is', async () => {
    const says = (file: string) => operation({ progress: { ...progress(0), file, done_bytes: 0, total_bytes: null } })
    const { stderr } = await run(['install', 'vllm', '--node', 'gpu-1'], {
      [list(G1)]: inTurn(
        [vllm],
        [{ ...vllm, operation: says('compiling: 7 %') }],
        [{ ...vllm, operation: operation({ state: 'done' }) }],
      ),
      [post(G1, 'install')]: { ...vllm, operation: operation() },
    })
    expect(stderr).toContain('gpu-1: install vllm compiling: 7 %\n')
  })

  test.each([
    [['install'], 'flotilla engines install: which engine?'],
    [['install', 'vllm', '--all', '--node', 'gpu-1'], 'flotilla engines install: give --node or --all, not both.'],
    [
      ['install', 'vllm', '--all', '--archive', 'https://x/y.zip'],
      'flotilla engines install: --archive needs --sha256, so that nodes run what you mean. sha256sum <file> prints it;',
    ],
    [['upgrade', 'vllm', '--all', '--sha256', SHA], 'engines upgrade: --sha256 is of an archive: give --archive too.'],
    [['install', 'vllm', '--all', '--archive', 'x', '--sha256', 'abc'], '--sha256: expected 64 hexadecimal digits.'],
    [['install', 'vllm', '--all', '--archive', 'x', '--', 'pip'], 'give --archive or a command after --, not both.'],
    [['install', 'vllm', '--all', '--'], 'a command was expected after --.'],
    [['list', '--', 'x'], 'flotilla engines list: unexpected "--".'],
  ])('%j is refused before anything is sent', async (args, message) => {
    const said = await run(args)
    expect(said).toMatchObject({ code: 2, calls: [], stdout: '' })
    expect(said.stderr).toContain(message)
  })

  test('a wrong name changes nothing anywhere', async () => {
    const wrong = await run(['install', 'vlm', '--all'])
    expect(wrong).toMatchObject({ code: 1, changes: [], stderr: 'There is no engine "vlm". Did you mean vllm?\n' })
    const node = await run(['install', 'vllm', '--node', 'gpu-1', '--node', 'gpu-9'])
    expect(node).toMatchObject({
      code: 1,
      changes: [],
      stderr: 'There is no node "gpu-9". Did you mean gpu-1 or gpu-2?\n',
    })
  })

  test('nodes that are offline are left out of --all, and that is said', async () => {
    const off = aNodeView({ id: 'off', name: 'gpu-3', liveness: 'offline' })
    const pending = aNodeView({ id: 'new', name: 'gpu-4', approved: false })
    const done = { ...vllm, operation: operation({ state: 'done' }) }
    const { stderr, changes } = await run(['install', 'vllm', '--all'], {
      'GET /api/nodes': [...nodes, off, pending],
      [post(G1, 'install')]: done,
      [post(G2, 'install')]: done,
    })
    expect(stderr).toBe('gpu-3 is offline; it is left out.\n')
    expect(changes).toHaveLength(2)
    expect(await run(['install', 'vllm', '--all'], { 'GET /api/nodes': [off, pending] })).toMatchObject({
      code: 1,
      stderr: 'There is no node that is approved, online and runs engines.\n',
    })
  })

  test('a node that is away for a moment is asked again; for long it is given up', async () => {
    const away = refused(503, 'unavailable', 'It is away.')
    const begin = { [post(G1, 'install')]: { ...vllm, operation: operation() } }
    const done = [{ ...vllm, state: 'available', reason: null, operation: operation({ state: 'done' }) }]
    const back = await run(['install', 'vllm', '--node', 'gpu-1'], {
      ...begin,
      [list(G1)]: inTurn([vllm], away, away, done),
    })
    expect(back).toMatchObject({ code: 0, stdout: 'gpu-1: vllm is installed.\n' })
    const gone = await run(['install', 'vllm', '--node', 'gpu-1'], { ...begin, [list(G1)]: inTurn([vllm], away) })
    expect(gone).toMatchObject({ code: 1, stdout: 'gpu-1: vllm was not installed: It is away.\n' })
  })

  test('another operation in its place is not taken for ours', async () => {
    const other = [{ ...vllm, state: 'available', operation: operation({ id: 'op2', kind: 'upgrade', state: 'done' }) }]
    const said = await run(['install', 'vllm', '--node', 'gpu-1'], {
      [list(G1)]: inTurn([vllm], other),
      [post(G1, 'install')]: { ...vllm, operation: operation() },
    })
    expect(said.code).toBe(1)
    expect(said.stdout.replaceAll('\n', ' ')).toContain('how this one ended is not known; it is available now.')
  })

  test('Ctrl-C stops the waiting, not what was begun', async () => {
    const said = await run(
      ['install', 'vllm', '--node', 'gpu-1'],
      { [post(G1, 'install')]: { ...vllm, operation: operation() } },
      { terminal: { interrupted: () => AbortSignal.abort() } },
    )
    expect(said).toMatchObject({ code: 130, stdout: '' })
    expect(said.stderr).toContain(
      `No longer waiting; it goes on. flotilla engines --data ${said.data} shows how far it is.`,
    )
  })

  test('--json prints what the API says of each node at the end, and nothing beside it', async () => {
    const done = { ...vllm, operation: operation({ state: 'done' }), later: 1 }
    const said = await run(['install', 'vllm', '--all', '--json'], {
      [list(G1)]: inTurn([vllm], [done]),
      [post(G1, 'install')]: { ...vllm, operation: operation() },
      [post(G2, 'install')]: refused(409, 'conflict', 'It is being deleted.'),
    })
    expect(said).toMatchObject({ code: 1, stderr: '' })
    expect(JSON.parse(said.stdout)).toEqual([
      { node_id: G1, node: 'gpu-1', ...done },
      { node_id: G2, node: 'gpu-2', error: expect.objectContaining({ message: 'It is being deleted.' }) as object },
    ])
  })
})
