import { describe, expect, test } from 'vitest'
import { aCluster, aNodeView, aReplicaView, flotilla, refused, type Answers } from '../../../test/support/cli/cli.ts'
import { aPlanView } from '../../../test/support/control/plan-views.ts'

const ID = '0198c7a0-1111-7000-8000-000000000001'
const node = aNodeView({ id: ID, name: 'gpu-1' })
const others = [
  aNodeView({ id: '0198c7a0-1111-7000-8000-000000000002', name: 'gpu-2', status: 'pending', approved: false }),
  aNodeView({ id: '77777777-1111-7000-8000-000000000003', name: '船/団 #1' }),
]
const listed = { 'GET /api/nodes': [node, ...others] }

const IF = 'POST /api/whatif'

async function run(args: string[], answers: Answers = {}, person: Parameters<typeof flotilla>[1] = {}) {
  const cluster = await aCluster({ ...listed, ...answers })
  const said = await flotilla(['nodes', ...args, '--data', cluster.data], person)
  // The list is read to find the node; what follows is what the command does.
  // Nor is the question what a drain would do: a frontend of the release before does not know it.
  const calls = cluster.calls.slice(1).filter((call) => call[0] !== IF)
  return { ...said, calls, all: cluster.calls, data: cluster.data }
}

describe('flotilla nodes', () => {
  test('list is what is done when nothing is named', async () => {
    const { code, stdout, all, data } = await run([])
    expect({ code, all }).toEqual({ code: 0, all: ['GET /api/nodes'] })
    expect(stdout).toMatch(/^gpu-1 +healthy +1 +0 +18\.3\/24 +41\.5\/64 +\ds$/m)
    expect(stdout).toContain(`1 node waits for approval:\n  flotilla nodes approve gpu-2 --data ${data}\n`)
    // All but the folder and the seconds that may have passed.
    const same = (text: string): string => text.replaceAll(/--data .*|\d+s$/gm, '')
    expect(same((await run(['list'])).stdout)).toBe(same(stdout))
  })

  test('show reads the replicas too', async () => {
    const answers = { [`GET /api/nodes/${ID}/models`]: [aReplicaView({ state: 'failed', error: 'no GPU' })] }
    const { code, stdout, calls } = await run(['show', 'gpu-1'], answers)
    expect({ code, calls }).toEqual({ code: 0, calls: [`GET /api/nodes/${ID}/models`] })
    expect(stdout).toContain('sim#0    failed          0\n    no GPU\n')
  })

  test('approve takes several, and none when one of them is not there', async () => {
    const approves = (id: string) => `POST /api/nodes/${id}/approve`
    const answers = { [approves(ID)]: node, [approves(others[0]!.id)]: { ...others[0]!, approved: true } }
    const { stdout, calls } = await run(['approve', 'gpu-2', 'gpu-1'], answers)
    expect(stdout).toBe('gpu-2 is approved.\ngpu-1 was approved before.\n')
    expect(calls).toEqual([approves(others[0]!.id), approves(ID)])
    const failed = await run(['approve', 'gpu-2', 'gpu-3'], answers)
    expect(failed).toMatchObject({
      code: 1,
      calls: [],
      stderr: 'There is no node "gpu-3". Did you mean gpu-1 or gpu-2?\n',
    })
  })

  test('resume tells what that means now', async () => {
    const resume = `POST /api/nodes/${ID}/resume`
    expect(await run(['resume', 'gpu-1'], { [resume]: node })).toMatchObject({
      code: 0,
      stdout: 'gpu-1 takes new work again.\n',
      calls: [resume],
    })
    const offline = { ...node, status: 'offline' }
    expect((await run(['resume', 'gpu-1'], { [resume]: offline })).stdout).toBe(
      'gpu-1 is no longer draining; it is offline.\n',
    )
  })
})

describe('flotilla nodes drain', () => {
  test('names the models that lose their last replica, and asks, before it starts', async () => {
    const warnings = ['qwen loses its last replica: its requests wait until another one is ready.']
    const plan = aPlanView({ left_without: [{ model_name: 'qwen', is_replaced: true }], warnings })
    const answers = { [drain]: draining, [IF]: plan }
    const answering = (text: string) => ({ terminal: { interactive: true, ask: async () => text } })
    const no = await run(['drain', 'gpu-1'], answers, answering('n'))
    expect(no).toMatchObject({ code: 1, calls: [] })
    expect(no.all).toContainEqual([IF, { node_lost: [], drain: ['gpu-1'], add_nodes: [], rules: [] }])
    expect(no.stderr.replaceAll('\n', ' ')).toBe(`${warnings[0]} Nothing was drained. `)
    const nobody = await run(['drain', 'gpu-1'], answers)
    expect(nobody).toMatchObject({ code: 2, calls: [] })
    expect(nobody.stderr).toContain('add --yes to drain gpu-1, which has the last replica of qwen')
    expect(await run(['drain', 'gpu-1'], answers, answering('y'))).toMatchObject({ code: 0, calls: [drain] })
    expect(await run(['drain', 'gpu-1', '--yes'], answers)).toMatchObject({ code: 0, calls: [drain] })
    expect(await run(['drain', 'gpu-1'], { [drain]: draining, [IF]: aPlanView() })).toMatchObject({ code: 0 })
  })

  const drain = `POST /api/nodes/${ID}/drain`
  const get = `GET /api/nodes/${ID}`
  const draining = { ...node, desired: 'draining', status: 'draining', in_flight_count: 2 } as const

  test('tells how much is left', async () => {
    const { stdout, calls, data } = await run(['drain', 'gpu-1'], { [drain]: draining })
    expect(calls).toEqual([drain])
    expect(stdout).toBe(
      `gpu-1 is draining; 2 requests are left.\nflotilla nodes drain gpu-1 --wait --data ${data} shows when it is done.\n`,
    )
    const none = await run(['drain', 'gpu-1'], { [drain]: { ...draining, in_flight_count: 0 } })
    expect(none.stdout).toBe('gpu-1 is draining; no requests are left on it.\n')
  })

  /** Answers one after the other, each by a later heartbeat. */
  const inTurn = (...views: object[]) => {
    let i = 0
    return () => ({ ...draining, last_heartbeat: draining.last_heartbeat! + i + 1, ...views[i++] })
  }

  test('waits until a heartbeat from after the drain says that nothing is left', async () => {
    const stale = { in_flight_count: 0, last_heartbeat: draining.last_heartbeat }
    const turns = inTurn({ in_flight_count: 1 }, stale, { in_flight_count: 1 }, { in_flight_count: 0 })
    const { code, stdout, stderr, calls } = await run(['drain', 'gpu-1', '--wait'], { [drain]: draining, [get]: turns })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'gpu-1 is drained; no requests are left on it.\n' })
    expect(stderr.trimEnd().split('\n')).toEqual([
      'gpu-1 is draining; 2 requests are left',
      'gpu-1 is draining; 1 request is left',
      'gpu-1 is draining; waiting for its next heartbeat',
      'gpu-1 is draining; 1 request is left',
    ])
    expect(calls).toEqual([drain, get, get, get, get])
  })

  test('with --json only the end is told', async () => {
    const turns = inTurn({ in_flight_count: 1 }, { in_flight_count: 0 })
    const { stdout, stderr } = await run(['drain', 'gpu-1', '--wait', '--json'], { [drain]: draining, [get]: turns })
    expect(JSON.parse(stdout)).toMatchObject({ id: ID, in_flight_count: 0 })
    expect(stderr).toBe('')
  })

  test.each([
    [{ desired: 'active' }, 'gpu-1 was resumed meanwhile; it is not drained.'],
    [{ liveness: 'offline' }, 'gpu-1 went offline; by its last heartbeat 2 requests are left.'],
  ])('does not wait for what will not come: %j', async (view, message) => {
    const said = await run(['drain', 'gpu-1', '--wait'], { [drain]: draining, [get]: inTurn(view) })
    expect(said.code).toBe(1)
    expect(said.stderr).toContain(message)
  })

  test('Ctrl-C stops waiting, not the drain', async () => {
    const interrupted = (): AbortSignal => AbortSignal.abort()
    const said = await run(['drain', 'gpu-1', '--wait'], { [drain]: draining }, { terminal: { interrupted } })
    expect(said).toMatchObject({ code: 130, calls: [drain] })
    expect(said.stderr).toContain('gpu-1 keeps draining')
  })
})

describe('flotilla nodes remove', () => {
  const remove = `DELETE /api/nodes/${ID}`
  const answers = { [remove]: { deleted: ID } }

  test('asks first', async () => {
    const asked: string[] = []
    const answering = (text: string) => ({
      terminal: { interactive: true, ask: async (question: string) => (asked.push(question), text) },
    })
    expect(await run(['remove', 'gpu-1'], answers, answering('y'))).toMatchObject({
      code: 0,
      stdout: 'gpu-1 is removed.\n',
      stderr: 'gpu-1 is healthy, with 1 replica and 0 requests. Its replicas stop, its worker ends.\n',
      calls: [remove],
    })
    const no = await run(['remove', 'gpu-1'], answers, answering(''))
    expect(no).toMatchObject({ code: 1, stdout: '', calls: [] })
    expect(no.stderr).toContain('Nothing was removed.')
    expect(asked[0]).toBe('Remove gpu-1 for good? [y/N] ')
  })

  test('without a terminal it needs --yes', async () => {
    expect(await run(['remove', 'gpu-1'], answers)).toMatchObject({
      code: 2,
      calls: [],
      stderr: 'flotilla nodes remove: not a terminal: add --yes to remove gpu-1.\n',
    })
    expect(await run(['remove', 'gpu-1', '--yes'], answers)).toMatchObject({ code: 0, calls: [remove] })
  })
})

describe('flotilla nodes label', () => {
  const path = `/api/nodes/${ID}/labels`
  const reply = { labels: { tier: 'fast', zone: 'a' }, label_sources: { tier: 'admin', zone: 'worker' } }

  test('sets and removes, and tells when a removed one stays', async () => {
    const { code, stdout, stderr, calls } = await run(['label', 'gpu-1', 'tier=fast', 'зона=a=b 🚢', 'zone-', 'x='], {
      [`PATCH ${path}`]: reply,
    })
    expect(code).toBe(0)
    expect(calls).toEqual([[`PATCH ${path}`, { tier: 'fast', зона: 'a=b 🚢', zone: null, x: '' }]])
    expect(stdout).toBe('KEY   VALUE  SOURCE\ntier  fast   admin\nzone  a      worker\n')
    expect(stderr).toBe('zone is still there: the worker declares it. A value set here would win.\n')
  })

  test('without labels it lists them', async () => {
    const { stdout, calls } = await run(['label', 'gpu-1'], { [`GET ${path}`]: reply })
    expect(calls).toEqual([`GET ${path}`])
    expect(stdout).toContain('tier  fast   admin')
  })

  test.each(['fast', '=x', '-'])('%s is refused', async (word) => {
    const said = await run(['label', 'gpu-1', word])
    expect(said).toMatchObject({ code: 2, calls: [] })
    expect(said.stderr).toContain('expected key=value to set a label or key- to remove one')
  })
})

describe('flotilla nodes slots and budget', () => {
  const slots = `/api/nodes/${ID}/max-replicas-per-model`
  const budget = `/api/nodes/${ID}/vram-budget`
  const set = { ...node, max_replicas_per_model: 2, max_replicas_per_model_manually_set: true, above_cap: 3 }
  const capped = { ...node, vram_budget: '80%', vram_budget_bytes: 2 ** 34, vram_budget_manually_set: true }

  test.each([
    [
      ['slots', 'gpu-1', '2'],
      [`PUT ${slots}`, { value: 2 }],
      set,
      'gpu-1 may run 2 replicas per model.\nSet by an admin; the worker declares 1.\n' +
        '3 replicas run above that limit; none is stopped for it.\n',
    ],
    [
      ['slots', 'gpu-1', '--reset'],
      `DELETE ${slots}`,
      node,
      'gpu-1 may run 1 replica per model.\nAs the worker declares.\n',
    ],
    [
      ['budget', 'gpu-1', '80%'],
      [`PUT ${budget}`, { value: '80%' }],
      capped,
      'Replicas on gpu-1 may use 80% of VRAM (16.0 of 24.0 GiB).\nSet by an admin; the worker declares none.\n',
    ],
    [['budget', 'gpu-1', '--reset'], `DELETE ${budget}`, node, 'Replicas on gpu-1 may use all VRAM.\n'],
  ])('%j', async (args, call, reply, stdout) => {
    const line = typeof call === 'string' ? call : (call[0] as string)
    const said = await run(args, { [line]: reply })
    expect(said).toMatchObject({ code: 0, calls: [call], stdout })
  })

  test('without a value they tell and change nothing', async () => {
    expect((await run(['slots', 'gpu-1'])).stdout).toContain('gpu-1 may run 1 replica per model.')
    expect(await run(['budget', 'gpu-1'])).toMatchObject({ calls: [], stdout: 'Replicas on gpu-1 may use all VRAM.\n' })
  })

  test.each([
    [['slots', 'gpu-1', 'two'], 'flotilla nodes slots: expected a whole number, got "two".'],
    [['slots', 'gpu-1', '2', '--reset'], 'flotilla nodes slots: give a value or --reset, not both.'],
    [['budget', 'gpu-1', 'lots'], 'flotilla nodes budget: expected a share such as 80%'],
  ])('%j is refused before anything is sent', async (args, message) => {
    const said = await run(args)
    expect(said).toMatchObject({ code: 2, calls: [] })
    expect(said.stderr).toContain(message)
  })

  test('what the API refuses is shown in its words', async () => {
    const answers = { [`PUT ${slots}`]: refused(400, 'bad_request', 'value: must be at least 1.') }
    expect(await run(['slots', 'gpu-1', '0'], answers)).toMatchObject({
      code: 1,
      stderr: 'value: must be at least 1.\n',
    })
  })
})

describe('which node is meant', () => {
  const approve = (id: string) => ({ [`POST /api/nodes/${id}/approve`]: node })

  test.each([['gpu-1'], [ID], ['77777777-1111-7000-8000-000000000003'], ['7777'], ['船/団 #1']])(
    '%s',
    async (wanted) => {
      const id = wanted.startsWith('7') || wanted.startsWith('船') ? others[1]!.id : ID
      expect(await run(['approve', wanted], approve(id))).toMatchObject({ code: 0, calls: Object.keys(approve(id)) })
    },
  )

  test.each([
    ['gpu-9', 1, 'There is no node "gpu-9". Did you mean gpu-1 or gpu-2?'],
    ['777', 1, 'There is no node "777". There is gpu-1, gpu-2, 船/団 #1.'],
    [
      '0198c7a0',
      2,
      `"0198c7a0" may mean more than one node: gpu-1 (${ID}), gpu-2 (0198c7a0-1111-7000-8000-000000000002). Say which by its id.`,
    ],
  ])('%s', async (wanted, code, stderr) => {
    expect(await run(['show', wanted])).toMatchObject({ code, stderr: `${stderr}\n`, calls: [] })
  })

  test('in an empty cluster there is none', async () => {
    const said = await run(['show', 'gpu-1'], { 'GET /api/nodes': [] })
    expect(said.stderr).toBe('There is no node "gpu-1". There are no nodes at all.\n')
  })
})

test.each([
  [['list'], 'GET /api/nodes', [node, ...others]],
  [['approve', 'gpu-1'], `POST /api/nodes/${ID}/approve`, node],
  [['drain', 'gpu-1'], `POST /api/nodes/${ID}/drain`, node],
  [['resume', 'gpu-1'], `POST /api/nodes/${ID}/resume`, node],
  [['remove', 'gpu-1', '--yes'], `DELETE /api/nodes/${ID}`, { deleted: ID }],
  [['label', 'gpu-1'], `GET /api/nodes/${ID}/labels`, { labels: {}, label_sources: {} }],
  [['slots', 'gpu-1', '2'], `PUT /api/nodes/${ID}/max-replicas-per-model`, node],
  [['budget', 'gpu-1', '--reset'], `DELETE /api/nodes/${ID}/vram-budget`, node],
])("%j --json prints the API's JSON, with fields this version does not know", async (args, call, reply) => {
  const later = Array.isArray(reply) ? reply.map((one) => ({ ...one, later: 1 })) : { ...reply, later: 1 }
  const said = await run([...args, '--json'], { [call]: later })
  const printed: unknown = JSON.parse(said.stdout)
  expect(said).toMatchObject({ code: 0, stderr: '' })
  // approve takes several nodes, so it answers with a list.
  expect(printed).toEqual(args[0] === 'approve' ? [later] : later)
})

test('show --json has the replicas beside the node', async () => {
  const replicas = [aReplicaView()]
  const { stdout } = await run(['show', 'gpu-1', '--json'], { [`GET /api/nodes/${ID}/models`]: replicas })
  expect(JSON.parse(stdout)).toEqual({ ...node, replicas })
})

test('a conflict is told in the words of the API', async () => {
  const message = 'This node is being removed.'
  const said = await run(['resume', 'gpu-1'], { [`POST /api/nodes/${ID}/resume`]: refused(409, 'conflict', message) })
  expect(said).toMatchObject({ code: 1, stderr: `${message}\n` })
})
