import { describe, expect, test } from 'vitest'
import { aCluster, aNodeView, aReplicaView, flotilla, refused, type Answers, type Person } from '../../testing/cli.ts'
import { aModelView, anEngineView } from '../../testing/cli-views.ts'

const [G1, G2] = ['0198c7a0-1111-7000-8000-000000000001', '0298c7a0-1111-7000-8000-000000000002']
const qwen = aModelView({ source: 'hf:Qwen/Qwen2.5-0.5B/q8_0.gguf', options: { context: 8192, flash: true } })
const ready = aReplicaView({ model_name: 'qwen', node_id: G1 })
const staging = aReplicaView({
  model_name: 'qwen',
  node_id: G2,
  replica_index: 1,
  state: 'staging',
  progress: { file: 'q8_0.gguf', done_bytes: 1_932_735_283, total_bytes: 4_402_341_478, bytes_per_s: 52_100_000 },
})
const rule = {
  model_name: 'qwen',
  min_replicas: 2,
  max_replicas: 0,
  node_selector: { tier: 'fast' },
  route_policy: 'session',
  updated_at: 1,
}
const known: Answers = {
  'GET /api/nodes': [aNodeView({ id: G1, name: 'gpu-1' }), aNodeView({ id: G2, name: 'gpu-2' })],
  'GET /api/models': [qwen],
  'GET /api/replicas': [ready, staging],
  'GET /api/nodes/scheduling': [rule],
}

async function run(args: string[], answers: Answers = {}, person: Person = {}) {
  const cluster = await aCluster({ ...known, ...answers })
  const said = await flotilla(['models', ...args, '--data', cluster.data], person)
  const changes = cluster.calls.filter((call) => typeof call !== 'string' || call.startsWith('DELETE'))
  return { ...said, calls: cluster.calls, changes, data: cluster.data }
}

describe('flotilla models', () => {
  test('lists what is ready, what is on the way and what has failed', async () => {
    const error = 'The engine ended with code 1 before it was ready.\nCUDA out of memory'
    const failed = aReplicaView({ model_name: '船/団 #1', node_id: G2, state: 'failed', error })
    const { code, stdout } = await run([], {
      'GET /api/models': [
        qwen,
        aModelView({ name: '船/団 #1', engine: 'sim' }),
        aModelView({ name: 'idle', engine: 'sim' }),
      ],
      'GET /api/replicas': [ready, staging, failed],
      'GET /api/nodes/scheduling': [{ ...rule, min_replicas: 4 }],
    })
    expect(code).toBe(0)
    expect(stdout).toBe(
      'MODEL     ENGINE        SOURCE                          READY\n' +
        'qwen      llama-server  hf:Qwen/Qwen2.5-0.5B/q8_0.gguf    1/2\n' +
        '  qwen#1 on gpu-2: staging 43 % of 4.1 GiB, 52 MB/s\n' +
        '  its rule asks for 2 more; no node has been found for it yet\n' +
        '船/団 #1  sim           -                                 0/1\n' +
        '  船/団 #1#0 on gpu-2: failed: The engine ended with code 1 before it was\n    ready.\n' +
        'idle      sim           -                                 0/0\n',
    )
  })

  test('fits 80 columns, whatever it has to tell, and hides what may be a secret', async () => {
    const long = 'https://me:secret@mirror.example/models/a-very-long-path/to/a/model.gguf?token=secret#sha256=00'
    const replicas = Array.from({ length: 9 }, (_, i) =>
      aReplicaView({ model_name: 'm'.repeat(60), replica_index: i, state: 'failed', error: 'x'.repeat(200) }),
    )
    const { stdout } = await run([], {
      'GET /api/models': [aModelView({ name: 'm'.repeat(60), engine: 'text-embeddings-inference', source: long })],
      'GET /api/replicas': replicas,
    })
    for (const line of stdout.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80)
    expect(stdout).toContain('  and 3 replicas more that are not ready\n')
    expect(stdout).not.toContain('secret')
  })

  test('an empty cluster says how to begin', async () => {
    const { stdout, data } = await run([], { 'GET /api/models': [], 'GET /api/replicas': [] })
    expect(stdout).toBe(
      `There are no models yet.\nflotilla models add --data ${data} adds one; see flotilla models add --help.\n`,
    )
  })

  test('--json has the rule and the replicas of each model', async () => {
    const { stdout } = await run(['--json'], { 'GET /api/models': [{ ...qwen, later: 1 }] })
    expect(JSON.parse(stdout)).toEqual([{ ...qwen, later: 1, rule, replicas: [ready, staging] }])
  })

  test('show tells all of one', async () => {
    const { stdout } = await run(['show', 'qwen'])
    expect(stdout).toBe(
      'qwen\n' +
        '  Engine     llama-server\n' +
        '  Source     hf:Qwen/Qwen2.5-0.5B/q8_0.gguf\n' +
        '  Options    context=8192, flash=true\n' +
        '  Rule       at least 2 replicas, no cap\n' +
        '  Nodes      only with the labels tier=fast\n' +
        '  Routing    session\n' +
        '  Revision   r1\n' +
        '  Added      3d ago, changed 2h ago\n' +
        '\nReplicas\n' +
        '  REPLICA  NODE   IN FLIGHT  STATE\n' +
        '  qwen#0   gpu-1          0  ready\n' +
        '  qwen#1   gpu-2          0  staging 43 % of 4.1 GiB, 52 MB/s\n',
    )
    expect(await run(['show', 'qwne'])).toMatchObject({
      code: 1,
      stderr: 'There is no model "qwne". Did you mean qwen?\n',
    })
  })
})

describe('flotilla models add', () => {
  test('sends what was given, options as what they look like', async () => {
    const args = [
      '--engine',
      'sim',
      '--source',
      'file:/m',
      '--option',
      'n=8',
      '--option',
      'on=true',
      '--option',
      's="8"',
    ]
    const { code, stdout, changes } = await run(['add', 'new', ...args, '--option=empty='], {
      'POST /api/models': aModelView({ name: 'new' }),
    })
    expect(changes).toEqual([
      [
        'POST /api/models',
        { name: 'new', engine: 'sim', source: 'file:/m', options: { n: 8, on: true, s: '8', empty: '' } },
      ],
    ])
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'new is added.\nNo rule asks for replicas of it: --replicas 1 starts one.\n',
    })
  })

  test('with --replicas a rule keeps it running; what else the rule says stays, but not a cap that is in the way', async () => {
    const answers = {
      'POST /api/models': { ...qwen, revision: 'r2' },
      'GET /api/nodes/scheduling': [{ ...rule, max_replicas: 2 }],
      'POST /api/nodes/scheduling': { ...rule, min_replicas: 3 },
    }
    const { stdout, changes } = await run(['add', 'qwen', '--engine', 'sim', '--replicas', '3'], answers)
    const { updated_at: _at, ...kept } = rule
    expect(changes[1]).toEqual(['POST /api/nodes/scheduling', { ...kept, min_replicas: 3, max_replicas: 3 }])
    expect(stdout).toBe(
      'qwen is changed; replicas of how it was are replaced.\nIts rule asks for at least 3 replicas.\n',
    )
    const fresh = await run(['add', 'new', '--engine', 'sim', '--replicas', '1'], {
      'POST /api/models': { ...qwen, name: 'new' },
      'POST /api/nodes/scheduling': { ...rule, model_name: 'new', min_replicas: 1 },
    })
    const plain = { node_selector: {}, route_policy: 'least_loaded' }
    expect(fresh.changes[1]).toEqual([
      'POST /api/nodes/scheduling',
      { model_name: 'new', min_replicas: 1, max_replicas: 0, ...plain },
    ])
    const same = await run(['add', 'qwen', '--engine', 'llama-server'], { 'POST /api/models': qwen })
    expect(same.stdout).toContain('qwen is as it was.')
  })

  test.each([
    [['add'], 'flotilla models add: which name?'],
    [['add', 'x'], 'flotilla models add: --engine is needed: flotilla engines lists what there is.'],
    [
      ['add', 'x', '--engine', 'sim', '--source', '/m'],
      'flotilla models add: source: must begin with file:/, https://, hf:',
    ],
    [['add', ' x', '--engine', 'sim'], 'flotilla models add: name: must not begin or end with a space.'],
    [['add', 'x', '--engine', 'sim', '--option', 'n'], '--option: expected key=value, got "n".'],
    [['add', 'x', '--engine', 'sim', '--replicas', 'two'], '--replicas: expected a whole number, got "two".'],
  ])('%j is refused before anything is sent', async (args, message) => {
    const said = await run(args)
    expect(said).toMatchObject({ code: 2, calls: [] })
    expect(said.stderr).toContain(message)
  })
})

describe('flotilla models unload', () => {
  const unload = (id: string): string => `POST /api/nodes/${id}/models/unload`
  const stopped = (key: string, gone: boolean, kept = false) => ({
    replicas: [{ id: 'r', key, gone }],
    kept_by_rule: kept,
  })

  test('all replicas of a model, on all nodes', async () => {
    const { code, stdout, changes } = await run(['unload', 'qwen', '--all', '--force'], {
      [unload(G1)]: stopped('qwen#0', true, true),
      [unload(G2)]: stopped('qwen#1', false, true),
    })
    expect(changes).toEqual([
      [unload(G1), { model_name: 'qwen', force: true }],
      [unload(G2), { model_name: 'qwen', force: true }],
    ])
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout:
        'gpu-1: qwen#0 is stopped.\ngpu-2: qwen#1 is stopping.\nA rule asks for qwen, so it will be started again.\n',
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
    expect(await run(['unload', 'qwen', '--all'], { 'GET /api/replicas': [] })).toMatchObject({
      code: 0,
      changes: [],
      stdout: 'qwen has no replicas; nothing was unloaded.\n',
    })
  })

  test('a node that fails is told, and the exit code too', async () => {
    const said = await run(['unload', 'qwen', '--all'], {
      [unload(G1)]: stopped('qwen#0', true),
      [unload(G2)]: refused(503, 'unavailable', 'It is away.'),
    })
    expect(said).toMatchObject({ code: 1, stdout: 'gpu-1: qwen#0 is stopped.\ngpu-2: It is away.\n' })
  })

  test('it wants to know where', async () => {
    expect(await run(['unload', 'qwen'])).toMatchObject({
      code: 2,
      calls: [],
      stderr: 'flotilla models unload: --node or --all is needed. See flotilla models unload --help.\n',
    })
  })
})

describe('flotilla models delete and remove', () => {
  const files = (id: string): string => `POST /api/nodes/${id}/models/delete`
  const answers = {
    [files(G1)]: { files: 3, freed_bytes: 4_402_341_478 },
    [files(G2)]: { files: 0, freed_bytes: 0 },
    'DELETE /api/models/qwen': { deleted: 'qwen' },
  }
  const answering = (text: string): Person => ({ terminal: { interactive: true, ask: async () => text } })

  test('delete says how much is free again', async () => {
    const { code, stdout, changes } = await run(['delete', 'qwen', '--all', '--yes'], answers)
    expect(changes).toEqual([
      [files(G1), { model_name: 'qwen' }],
      [files(G2), { model_name: 'qwen' }],
    ])
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'gpu-1: deleted 3 files of qwen; 4.1 GiB are free again.\ngpu-2: there were no files of qwen.\n',
    })
  })

  test.each([['delete', '--all'], ['remove']])('%s asks first where replicas would stop', async (what, ...flags) => {
    const no = await run([what, 'qwen', ...flags], answers, answering('n'))
    expect(no).toMatchObject({ code: 1, changes: [] })
    expect(no.stderr).toMatch(/^These replicas stop.*: qwen#0 on gpu-1, qwen#1 on gpu-2\.\nNothing was \w+d\.\n$/)
    const nobody = await run([what, 'qwen', ...flags], answers)
    expect(nobody).toMatchObject({ code: 2, changes: [] })
    expect(nobody.stderr).toContain('nobody is there to ask; add --yes to')
    const idle = await run([what, 'qwen', ...flags], { ...answers, 'GET /api/replicas': [] })
    expect(idle.code).toBe(0)
    expect(idle.changes).not.toEqual([])
  })

  test('files may be left of a model that is gone; what never was is a mistake', async () => {
    const gone = await run(['delete', 'old', '--all'], answers)
    expect(gone).toMatchObject({ code: 0 })
    expect(await run(['delete', 'qwne', '--node', 'gpu-2'], answers)).toMatchObject({
      code: 1,
      stderr: 'There is no model "qwne". Did you mean qwen?\n',
    })
  })

  test('remove', async () => {
    const said = await run(['remove', 'qwen', '--yes'], answers)
    expect(said).toMatchObject({
      code: 0,
      changes: ['DELETE /api/models/qwen'],
      stdout: 'qwen is removed. Its files stay until flotilla models delete.\n',
    })
    expect(await run(['remove', 'qwne', '--yes'])).toMatchObject({ code: 1, changes: [] })
  })
})

describe('a model that no node can run', () => {
  const missing = anEngineView({
    name: 'llama-server',
    state: 'missing',
    reason: 'The program "x" is not in PATH. Get it.',
  })
  const backends = (...views: unknown[]): Answers => ({
    [`GET /api/nodes/${G1}/backends`]: views,
    [`GET /api/nodes/${G2}/backends`]: views,
    'GET /api/replicas': [],
    'POST /api/models': qwen,
  })

  test.each([
    ['add', 'qwen', '--engine', 'llama-server'],
    ['show', 'qwen'],
  ])('models %s says why', async (...args) => {
    const { code, stdout } = await run(args, backends(missing))
    expect(code).toBe(0)
    expect(stdout).toContain('No node can run it now:\n  gpu-1: The program "x" is not in PATH\n')
  })

  test('says nothing when one can', async () => {
    const { stdout } = await run(['show', 'qwen'], backends(anEngineView({ name: 'llama-server', state: 'available' })))
    expect(stdout).not.toContain('No node')
  })

  test('an engine that nobody knows may be a slip', async () => {
    const { stdout } = await run(['show', 'qwen'], backends(anEngineView({ name: 'llama-serve', state: 'available' })))
    expect(stdout).toContain('No node knows the engine llama-server. Did you mean llama-serve?')
  })

  test('with no node at all it says how to get one', async () => {
    const { stdout } = await run(['show', 'qwen'], { ...backends(), 'GET /api/nodes': [] })
    expect(stdout).toContain('No node is there to run it. flotilla token shows how to add one.')
  })
})
