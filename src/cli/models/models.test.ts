import { describe, expect, test } from 'vitest'
import { toHeaderMessage } from '../../api/header-message.ts'
import {
  aCluster,
  aNodeView,
  aReplicaView,
  flotilla,
  refused,
  type Answers,
  type Person,
} from '../../../test/support/cli/cli.ts'
import { aHeader } from '../../../test/support/builders.ts'
import { aModelView, anEngineView, aRuleView, aSavedModel } from '../../../test/support/cli/cli-views.ts'

const GIB = 2 ** 30
const [G1, G2] = ['0198c7a0-1111-7000-8000-000000000001', '0298c7a0-1111-7000-8000-000000000002']
const qwen = aModelView({
  source: 'hf:Qwen/Qwen2.5-0.5B/q8_0.gguf',
  options: { context: 8192, flash: true },
  state: 'ready',
  ready_replicas: 1,
  replicas: 2,
})
const ready = aReplicaView({ model_name: 'qwen', node_id: G1 })
const staging = aReplicaView({
  model_name: 'qwen',
  node_id: G2,
  replica_index: 1,
  state: 'staging',
  progress: { file: 'q8_0.gguf', done_bytes: 1_932_735_283, total_bytes: 4_402_341_478, bytes_per_s: 52_100_000 },
})
const rule = aRuleView({ min_replicas: 2, node_selector: { tier: 'fast' }, route_policy: 'session' })
const claim = { devices: [{ index: 0, bytes: 5 * GIB }], ram: GIB, disk: 0, source: 'computed' }
const measured = { devices: [{ index: 0, bytes: 4.5 * GIB }], ram: GIB / 2 }
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
    const { code, stdout, data } = await run([], {
      'GET /api/models': [
        qwen,
        aModelView({ name: '船/団 #1', engine: 'sim', state: 'failed' }),
        aModelView({ name: 'idle', engine: 'sim', memory: { vram: 12 * GIB, ram: GIB } }),
      ],
      'GET /api/replicas': [{ ...ready, claim, measured }, { ...staging, claim }, failed],
      'GET /api/nodes/scheduling': [{ ...rule, wanted: 4 }],
    })
    expect(code).toBe(0)
    expect(stdout).toBe(
      'MODEL     STATE    READY    MEMORY  ENGINE        SOURCE\n' +
        'qwen      ready      1/2   5.0 GiB  llama-server  hf:Qwen/Qwen2.5-0.5B/q8_0.gguf\n' +
        '  qwen#1 on gpu-2: staging 43 % of 4.1 GiB, 52 MB/s\n' +
        '  its rule asks for 2 more, and no node has been found yet:\n' +
        `    flotilla why qwen --data ${data} tells what it waits for\n` +
        '船/団 #1  failed     0/1         -  sim           -\n' +
        '  船/団 #1#0 on gpu-2: failed: The engine ended with code 1 before it was\n    ready.\n' +
        'idle      stopped    0/0  12.0 GiB  sim           -\n',
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
        '  State      ready, 1 of 2 replicas can serve\n' +
        '  Engine     llama-server\n' +
        '  Source     hf:Qwen/Qwen2.5-0.5B/q8_0.gguf\n' +
        '  Options    context=8192, flash=true\n' +
        '  Memory     is found out by itself\n' +
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

test('show tells what is known of the memory, the files and the last load', async () => {
  const model = aModelView({
    memory: { vram: 12 * GIB, ram: GIB },
    anti_affinity: 'large',
    payload_bytes: 4_402_341_478,
    header: toHeaderMessage(aHeader({ layers: 32, context: 32_768 })),
    last_loaded_at: Date.now() - 3_700_000,
    last_load_ms: 12_300,
  })
  const { stdout, data } = await run(['show', 'qwen'], {
    'GET /api/models': [model],
    'GET /api/replicas': [{ ...ready, claim, measured }],
    'GET /api/nodes/scheduling': [],
  })
  expect(stdout).toContain(
    '  State      stopped, 0 of 0 replicas can serve\n' +
      '  Engine     llama-server\n' +
      '  Source     none\n' +
      '  Options    none\n' +
      '  Files      4.1 GiB, gguf, llama, Q4_K_M, 32 layers, trained for 32768 tokens\n' +
      '  Memory     12.0 GiB of VRAM and 1.0 GiB of RAM for a replica, as configured\n' +
      '  Apart      never on one node with others of "large"\n' +
      '  Rule       none: its first request loads it\n',
  )
  expect(stdout).toContain(
    '  Loaded     1h ago, in 12.3 s\n' +
      '\nReplicas\n' +
      '  REPLICA  NODE   IN FLIGHT             CLAIM  MEASURED  STATE\n' +
      '  qwen#0   gpu-1          0  5.0 GiB computed   4.5 GiB  ready\n' +
      `\nflotilla why qwen --data ${data} tells where it could run.\n`,
  )
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
      'POST /api/models': aSavedModel({ name: 'new' }),
    })
    expect(changes).toEqual([
      [
        'POST /api/models',
        {
          name: 'new',
          engine: 'sim',
          source: 'file:/m',
          options: { n: 8, on: true, s: '8', empty: '' },
          memory: null,
          anti_affinity: null,
        },
      ],
    ])
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'new is added.\nNo rule asks for replicas of it: its first request loads it.\n',
    })
  })

  test.each([
    ['12GiB', { vram: 12 * GIB, ram: 0 }],
    ['vram=12GB, ram=512MiB', { vram: 12e9, ram: GIB / 2 }],
    ['ram=2GiB', { vram: 0, ram: 2 * GIB }],
  ])('--memory %s', async (text, memory) => {
    const args = ['add', 'new', '--engine', 'sim', '--memory', text, '--anti-affinity', 'large']
    const { changes } = await run(args, { 'POST /api/models': aSavedModel({ name: 'new' }) })
    expect(changes).toMatchObject([['POST /api/models', { memory, anti_affinity: 'large' }]])
  })

  test('with --replicas a rule keeps it running, made in the same call', async () => {
    const text =
      '2 replicas of the old revision are replaced one by one: a new one is started first where there is room.'
    const answers = {
      'POST /api/models': aSavedModel({ effect: { is_changed: true, replaced: 2, text } }),
      'GET /api/nodes/scheduling': [{ ...rule, min_replicas: 3 }],
    }
    const args = ['add', 'qwen', '--engine', 'sim', '--replicas', '3', '--replace', '--later']
    const { stdout, changes } = await run(args, answers)
    const call = 'POST /api/models?replace=true&later=true'
    expect(changes).toMatchObject([[call, { name: 'qwen', replicas: 3 }]])
    expect(stdout).toBe(
      'qwen is changed. 2 replicas of the old revision are replaced one by one: a new\n' +
        'one is started first where there is room.\nIts rule asks for at least 3 replicas.\n',
    )
    const unchanged = aSavedModel({ effect: { is_changed: false, replaced: 0, text: 'Nothing changes.' } })
    const same = await run(['add', 'qwen', '--engine', 'llama-server'], { 'POST /api/models': unchanged })
    expect(same.stdout).toContain('qwen is as it was.')
  })

  test('a model that exists is refused in the words of the API', async () => {
    const message = 'There is a model "qwen" already, and this would change it: engine command → sim.'
    const { code, stderr } = await run(['add', 'qwen', '--engine', 'sim'], {
      'POST /api/models': refused(409, 'conflict', message),
    })
    expect({ code, stderr }).toEqual({ code: 1, stderr: `${message}\n` })
  })

  test.each([
    [['add'], 'flotilla models add: which name?'],
    [['add', 'x'], 'flotilla models add: --source is needed, or --engine of one that needs no files.'],
    [
      ['add', 'x', '--engine', 'sim', '--source', '/m'],
      'flotilla models add: --source: a file on the nodes themselves is written file:/m.',
    ],
    [['add', ' x', '--engine', 'sim'], 'flotilla models add: name: must not begin or end with a space.'],
    [['add', 'x', '--engine', 'sim', '--option', 'n'], '--option: expected key=value, got "n".'],
    [['add', 'x', '--engine', 'sim', '--memory', 'much'], '--memory: expected a size such as 12GiB, or vram=12GiB,'],
    [['add', 'x', '--engine', 'sim', '--memory', 'vram=1GiB,vram=2GiB'], '--memory: expected a size'],
    [['add', 'x', '--engine', 'sim', '--memory', 'disk=1GiB'], '--memory: expected a size'],
    [['add', 'x', '--engine', 'sim', '--replicas', 'two'], '--replicas: expected a whole number, got "two".'],
  ])('%j is refused before anything is sent', async (args, message) => {
    const said = await run(args)
    expect(said).toMatchObject({ code: 2, calls: [] })
    expect(said.stderr).toContain(message)
  })
})

describe('flotilla models set', () => {
  const seen = { ...qwen, memory: { vram: GIB, ram: 0 }, anti_affinity: 'large', updated_at: 7 }
  const path = '/api/models/qwen'
  const answers = { [`GET ${path}`]: seen, [`PUT ${path}`]: aSavedModel() }
  const { engine, source, options } = seen
  const before = { engine, source, options, memory: seen.memory, anti_affinity: 'large' }

  test.each<[string[], object]>([
    [['--engine', 'sim'], { engine: 'sim' }],
    [['--context', '4096'], { options: { context: 4096, flash: true } }],
    [['--option', 'flash=false', '--option', 'gpu=off'], { options: { context: 8192, flash: false, gpu: 'off' } }],
    [['--source', 'none'], { source: null }],
    [['--context', 'none'], { options: { flash: true } }],
    [['--option', 'flash-'], { options: { context: 8192 } }],
    [['--memory', 'none', '--anti-affinity', 'none'], { memory: null, anti_affinity: null }],
  ])('%j changes that and nothing else', async (flags, changed) => {
    const { code, changes } = await run(['set', 'qwen', ...flags], answers)
    expect({ code, changes }).toEqual({
      code: 0,
      changes: [[`PUT ${path}?if_updated_at=7`, { ...before, ...changed }]],
    })
  })

  test('merges again with what another admin has saved meanwhile', async () => {
    let version = 7
    const conflict = refused(409, 'conflict', 'It was changed meanwhile.', 'if_updated_at')
    const { code, changes } = await run(['set', 'qwen', '--context', '4096'], {
      [`GET ${path}`]: () => ({ ...seen, updated_at: version, options: version === 7 ? {} : { threads: 2 } }),
      [`PUT ${path}`]: () => (version === 7 ? ((version = 8), conflict) : aSavedModel()),
    })
    expect(code).toBe(0)
    expect(changes).toMatchObject([
      [`PUT ${path}?if_updated_at=7`, { options: { context: 4096 } }],
      [`PUT ${path}?if_updated_at=8`, { options: { context: 4096, threads: 2 } }],
    ])
  })

  test.each([
    [['set', 'qwen'], 'flotilla models set: what of it? Name one of --engine,'],
    [['set', 'qwen', '--option', 'n'], 'expected key=value, or key- to take it back, got "n".'],
    [['set', 'qwen', '--context', 'much'], '--context: expected a whole number or none, got "much".'],
  ])('%j is refused before anything is sent', async (args, message) => {
    const said = await run(args)
    expect(said).toMatchObject({ code: 2, changes: [] })
    expect(said.stderr).toContain(message)
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
    expect(nobody.stderr).toContain('not a terminal: add --yes to')
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
    const companion = { ...answers, 'DELETE /api/models/qwen': { deleted: 'qwen', rule: 'removed' } }
    expect((await run(['remove', 'qwen', '--yes'], companion)).stdout).toContain(
      'made together with it is removed as well',
    )
    const kept = { ...answers, 'DELETE /api/models/qwen': { deleted: 'qwen', rule: 'kept' } }
    expect((await run(['remove', 'qwen', '--yes'], kept)).stdout).toContain('  flotilla rules remove qwen --data ')
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
    'POST /api/models': aSavedModel(),
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
