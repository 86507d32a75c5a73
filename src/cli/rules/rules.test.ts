import { describe, expect, test } from 'vitest'
import type { RuleView } from '../../api/admin/rule-schemas.ts'
import { aCluster, flotilla, refused, type Answers, type Person } from '../../../test/support/cli/cli.ts'
import { aModelView, aRuleView } from '../../../test/support/cli/cli-views.ts'
import { aPlanView } from '../../../test/support/control/plan-views.ts'

const PATH = '/api/nodes/scheduling'
const IF = 'POST /api/whatif'
const OVERWRITTEN = 'It is in the configuration: the next start of a frontend overwrites what is changed here.'

const met = aRuleView({ model_name: 'qwen', min_replicas: 2, max_replicas: 4, wanted: 2, replicas: 2, ready: 2 })
const spread = aRuleView({
  model_name: 'org/embedder',
  min_replicas: 0,
  spread_all: true,
  node_selector: { tier: 'gpu', zone: ['a', 'b'], '!spot': '' },
  route_policy: 'session',
  source: 'config',
  warning: OVERWRITTEN,
  state: 'starting',
  reason: '1 of 3 on the way.',
  wanted: 3,
  replicas: 3,
  ready: 2,
})
const cooling = aRuleView({
  model_name: 'big',
  min_replicas: 1,
  max_replicas: 1,
  state: 'cooling',
  reason: 'thor: needs 40.0 GiB on gpu 0, 3.1 GiB are free',
  wanted: 1,
  unsatisfiable_until: Date.now() + 190_000,
  unsatisfiable_ticks: 3,
  last_decision: {
    at: 1,
    missing: 1,
    reason: 'x',
    refusals: [{ node_name: 'thor', text: 'needs 40.0 GiB on gpu 0, 3.1 GiB are free' }],
    more: 7,
  },
})
const idle = aRuleView({ model_name: 'idle', min_replicas: 0, scale_to_zero_after_s: 5400 })
const known: Answers = {
  [`GET ${PATH}`]: [met, spread, cooling, idle],
  'GET /api/models': ['qwen', 'org/embedder', 'big', 'idle'].map((name) => aModelView({ name })),
}

async function run(args: string[], answers: Answers = {}, columns = 80, { terminal }: Person = {}) {
  const cluster = await aCluster({ ...known, ...answers })
  const said = await flotilla(['rules', ...args, '--data', cluster.data], { terminal: { columns, ...terminal } })
  const changes = cluster.calls.filter((call) => typeof call !== 'string' || call.startsWith('DELETE'))
  return { ...said, changes, data: cluster.data }
}

describe('flotilla rules', () => {
  test.each([[[]], [['list']]])('%j shows each rule, whether it is met and why not', async (args) => {
    const { code, stdout } = await run(args, {}, 100)
    expect(code).toBe(0)
    expect(stdout).toBe(
      `MODEL         STATE     READY  REPLICAS    NODES                    POLICY        SOURCE
qwen          met         2/2  2-4         any                      least_loaded  api
org/embedder  starting    2/3  every node  tier=gpu,zone=a|b,!spot  session       config
  1 of 3 on the way.
big           cooling     0/1  1           any                      least_loaded  api
  next try in 3m; thor: needs 40.0 GiB on gpu 0, 3.1 GiB are free
idle          met         0/0  0+          any                      least_loaded  api
`,
    )
  })

  test('fits 80 columns, whatever it has to tell', async () => {
    const long = aRuleView({
      model_name: 'm'.repeat(70),
      node_selector: { tier: 'x'.repeat(90) },
      state: 'unmet',
      reason: 'why '.repeat(200),
      wanted: 1000,
    })
    const { stdout } = await run([], { [`GET ${PATH}`]: [long, spread, cooling] })
    for (const line of stdout.split('\n').filter((text) => !text.includes('flotilla rules show'))) {
      expect(line.length, line).toBeLessThanOrEqual(80)
    }
    expect(stdout).toContain('flotilla rules show mmm')
  })

  test('without any it says how to make one, in the same cluster', async () => {
    const { stdout, data } = await run([], { [`GET ${PATH}`]: [] })
    expect(stdout).toContain(`  flotilla rules set <model> --min 1 --data ${data}\n`)
  })

  test('show tells all of one', async () => {
    const { stdout, data } = await run(['show', 'big'])
    expect(stdout).toContain(`big
  Replicas   at least 1 replica, at most 1
  Nodes      any
  Routing    least_loaded
  Source     the API
`)
    expect(stdout).toContain(`  State      cooling, next try in 3m
  Ready      0 of 1; there are 0 replicas
  Why        thor: needs 40.0 GiB on gpu 0, 3.1 GiB are free
  Nodes say  thor: needs 40.0 GiB on gpu 0, 3.1 GiB are free
             and 7 nodes more

flotilla why big --data ${data} tells where it could run.
`)
    expect((await run(['show', 'idle'])).stdout).toContain('no cap, none after 90m without a request')
    expect((await run(['show', 'org/embedder'])).stdout).toContain('the next start of a frontend overwrites')
    expect(await run(['show', 'qwem'])).toMatchObject({
      code: 1,
      stderr: 'There is no rule "qwem". Did you mean qwen?\n',
    })
  })

  test('names from elsewhere cannot write on the terminal', async () => {
    const bad = aRuleView({ model_name: 'a\u001b[2Jb', node_selector: { 'c\u001b[2Jd': 'x' }, reason: 'e\u001b[2Jf' })
    for (const args of [[], ['show', bad.model_name]]) {
      expect((await run(args, { [`GET ${PATH}`]: [bad] })).stdout).not.toContain('\u001b')
    }
  })
})

describe('flotilla rules set', () => {
  const plain = {
    model_name: 'new',
    node_selector: {},
    min_replicas: 0,
    max_replicas: 0,
    spread_all: false,
    scale_to_zero_after_s: null,
    route_policy: 'least_loaded',
  }
  const settings = ({ model_name, node_selector, min_replicas, max_replicas, spread_all, ...rest }: RuleView) => {
    const { scale_to_zero_after_s, route_policy } = rest
    return { model_name, node_selector, min_replicas, max_replicas, spread_all, scale_to_zero_after_s, route_policy }
  }

  test.each<[string[], object]>([
    [['new', '--min', '2'], { ...plain, min_replicas: 2 }],
    [['new', '--spread'], { ...plain, spread_all: true }],
    [
      [
        'new',
        '--max=4',
        '--selector',
        'zone=a|b,disk!=slow,!spot',
        '--policy',
        'round_robin',
        '--scale-to-zero',
        '30m',
      ],
      {
        ...plain,
        max_replicas: 4,
        node_selector: { zone: ['a', 'b'], disk: '!slow', '!spot': '' },
        route_policy: 'round_robin',
        scale_to_zero_after_s: 1800,
      },
    ],
    // What is not named stays.
    [['qwen', '--min', '3'], { ...settings(met), min_replicas: 3 }],
    [['qwen', '--selector', 'tier=gpu'], { ...settings(met), node_selector: { tier: 'gpu' } }],
    [['org/embedder', '--selector', 'any'], { ...settings(spread), node_selector: {} }],
    [['idle', '--scale-to-zero', 'never'], { ...settings(idle), scale_to_zero_after_s: null }],
    // One kind of rule becomes the other.
    [['qwen', '--spread'], { ...settings(met), min_replicas: 0, max_replicas: 0, spread_all: true }],
    [['idle', '--spread'], { ...settings(idle), spread_all: true, scale_to_zero_after_s: null }],
    [['org/embedder', '--min', '1'], { ...settings(spread), spread_all: false, min_replicas: 1 }],
    [['qwen', '--selector', 'none'], { ...settings(met), node_selector: {} }],
    [['qwen', '--min', 'none', '--max', 'none'], { ...settings(met), min_replicas: 0, max_replicas: 0 }],
    [['org/embedder', '--policy', 'none'], { ...settings(spread), route_policy: 'least_loaded' }],
    [['idle', '--scale-to-zero', 'none'], { ...settings(idle), scale_to_zero_after_s: null }],
  ])('%j', async (args, body) => {
    const { code, changes } = await run(['set', ...args], { [`POST ${PATH}`]: met, [IF]: aPlanView() })
    expect({ code, saved: changes.at(-1) }).toEqual({
      code: 0,
      saved: [expect.stringContaining(`POST ${PATH}?`), body],
    })
  })

  test('merges again with what another admin has saved meanwhile', async () => {
    let version = 7
    const conflict = refused(409, 'conflict', 'It was changed meanwhile.', 'if_updated_at')
    const { code, changes } = await run(['set', 'qwen', '--min', '3'], {
      [`GET ${PATH}`]: () => [{ ...met, max_replicas: version === 7 ? 4 : 9, updated_at: version }],
      [`POST ${PATH}`]: () => (version === 7 ? ((version = 8), conflict) : met),
    })
    expect(code).toBe(0)
    expect(changes).toMatchObject([
      [`POST ${PATH}?if_updated_at=7`, { min_replicas: 3, max_replicas: 4 }],
      [`POST ${PATH}?if_updated_at=8`, { min_replicas: 3, max_replicas: 9 }],
    ])
  })

  test('asks first when the selector would leave a model that serves without a replica', async () => {
    const args = ['set', 'qwen', '--selector', 'nope=1']
    const warnings = ['qwen is left without a replica.', 'Nodes have tier=gpu.']
    const left = { left_without: [{ model_name: 'qwen', is_replaced: false }], warnings }
    const answers = { [`POST ${PATH}`]: met, [IF]: aPlanView(left) }
    const saved = ({ changes }: { changes: unknown[] }) => changes.filter((call) => String(call).includes(PATH)).length
    const answering = (text: string): Person => ({ terminal: { interactive: true, ask: async () => text } })
    const no = await run(args, answers, 80, answering('n'))
    expect({ code: no.code, saved: saved(no) }).toEqual({ code: 1, saved: 0 })
    expect(no.stderr).toBe('qwen is left without a replica. Nodes have tier=gpu.\nNothing was saved.\n')
    const nobody = await run(args, answers)
    expect({ code: nobody.code, saved: saved(nobody) }).toEqual({ code: 2, saved: 0 })
    expect(nobody.stderr).toContain('add --yes')
    expect(nobody.stderr).toContain('Nodes have tier=gpu.')
    expect(await run(args, answers, 80, answering('y'))).toMatchObject({ code: 0 })
    expect(await run([...args, '--yes'], answers)).toMatchObject({ code: 0 })
    const replaced = { ...answers, [IF]: aPlanView({ left_without: [{ model_name: 'qwen', is_replaced: true }] }) }
    expect(await run(args, replaced)).toMatchObject({ code: 0 })
  })

  test('a name that no model has may be a slip', async () => {
    const { stdout } = await run(['set', 'qwem', '--min', '1'], { [`POST ${PATH}`]: aRuleView({ model_name: 'qwem' }) })
    expect(stdout.replaceAll('\n', ' ')).toContain(
      'There is no model qwem yet: the rule waits for it. Did you mean qwen?',
    )
  })

  test('says what the rule asks for, that its model is missing, and that a start overwrites it', async () => {
    const reply = aRuleView({ ...spread, model_name: 'new' })
    const { stdout } = await run(['set', 'new', '--spread'], { [`POST ${PATH}`]: reply })
    expect(stdout.replaceAll('\n', ' ')).toBe(
      'The rule of new asks for one replica on every node that matches, on nodes with ' +
        `tier=gpu,zone=a|b,!spot. There is no model new yet: the rule waits for it. ${OVERWRITTEN} `,
    )
    const { stdout: other } = await run(['set', 'qwen', '--min', '2'], { [`POST ${PATH}`]: met })
    expect(other).toBe('The rule of qwen asks for at least 2 replicas, at most 4, on any node.\n')
  })

  test.each([
    [['qwen'], 'what is it to ask for? Name one of --min, --max, --spread'],
    [['qwen', '--min', 'two'], '--min: expected a whole number, got "two".'],
    [['qwen', '--max', '-1'], '--max'],
    [['qwen', '--min', '10001'], '--min: must be at most 10000.'],
    [['qwen', '--min', '5'], '--max: must be 0 (no cap) or at least min_replicas.'],
    [['qwen', '--spread', '--min', '1'], 'give --spread, or --min and --max, not both.'],
    [['qwen', '--selector', 'gpu'], '--selector: "gpu" is no condition; expected key=value'],
    [['qwen', '--policy', 'fast'], '--policy: expected least_loaded, round_robin, session, got "fast".'],
    [['qwen', '--scale-to-zero', 'soon'], '--scale-to-zero: expected a time such as 90s, 30m or 1h, or never'],
    [['idle', '--scale-to-zero', '5s'], '--scale-to-zero: must be at least 10.'],
    [['qwen', '--scale-to-zero', '1h'], '--scale-to-zero: contradicts min_replicas'],
    [['org/embedder', '--scale-to-zero', '1h'], '--scale-to-zero: is mutually exclusive with one replica on every'],
    [[], 'which model?'],
  ])('%j is refused before anything is sent', async (args, message) => {
    const { code, stderr, changes } = await run(['set', ...args])
    expect({ code, changes }).toEqual({ code: 2, changes: [] })
    expect(stderr).toContain(message)
  })

  test('what the API refuses is told', async () => {
    const refusal = refused(400, 'bad_request', 'model_name: must not begin or end with a space')
    const { code, stderr } = await run(['set', 'qwen', '--min', '1'], { [`POST ${PATH}`]: refusal })
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'model_name: must not begin or end with a space\n' })
  })
})

describe('flotilla rules remove', () => {
  test('removes a rule, whatever its model is called, and says when it will be back', async () => {
    const call = `DELETE ${PATH}/org%2Fembedder`
    const { stdout, changes } = await run(['rm', 'org/embedder'], { [call]: { deleted: 'org/embedder' } })
    expect(changes).toEqual([call])
    expect(stdout).toContain('The rule of org/embedder is removed: from now on its requests load it.\n')
    expect(stdout).toContain('the next start of a frontend overwrites')
    expect((await run(['rm', 'nothing'])).code).toBe(1)
  })
})

test.each([
  [[], `GET ${PATH}`, [met, spread]],
  [['show', 'qwen'], `GET ${PATH}`, met],
  [['set', 'qwen', '--min', '1'], `POST ${PATH}`, met],
  [['rm', 'qwen'], `DELETE ${PATH}/qwen`, { deleted: 'qwen' }],
])("flotilla rules %j --json prints the API's JSON", async (args, call, reply) => {
  const answers = args[0] === 'show' ? {} : { [call]: reply }
  expect(JSON.parse((await run([...args, '--json'], answers)).stdout)).toEqual(reply)
})
