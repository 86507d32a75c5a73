import { describe, expect, test } from 'vitest'
import { flotilla } from '../../../test/support/cli/cli.ts'
import { aPlanChange, aPlanStep, aPlanView, anImpossible } from '../../../test/support/control/plan-views.ts'
import { widthOf } from '../terminal/text-width.ts'
import { fullPlan, runOnDocument } from './document-suite.ts'

describe('flotilla plan', () => {
  test('tells what would change, what follows, what stays impossible, and how to apply it', async () => {
    const { code, stdout, path, data } = await runOnDocument(['plan', '--prune'], { 'POST /api/plan': fullPlan })
    expect(code).toBe(0)
    expect(stdout).toBe(`Models
  + qwen: engine llama-server, source https://host/qwen.gguf
  ~ llama: options.context 4096 → 8192, 1 replica restarted
  - old

Rules
  ~ llama: min_replicas 1 → 2, node_selector tier=gpu,!spot
    It is in the configuration of a frontend: the next start of a frontend
    overwrites what is changed here.

Nodes
  - thor: drain true → none

What follows
  STEP   REPLICA  NODE  ON         MEMORY  NOTE
  stop   llama#0  thor  cpu             -  the model has changed
  stop   old#0    loki  cpu             -  its model is gone
  evict  idle#0   thor  gpu 1     8.0 GiB  makes room for llama
  start  llama#0  thor  gpu 0,1  14.0 GiB  moves 4.5 GiB
  start  qwen#0   thor  cpu             ?  size of files unknown, memory unknown

What stays impossible
  big: 1 replica finds no place
    thor needs 40.0 GiB on gpu 0, 3.0 GiB are free
    loki has 1 slot for each model, this would be replica 2
    and 7 nodes more
    What would help: add a node with 40.0 GiB of free VRAM
  known: 2 replicas find no place, as now

odin is not in the cluster: what is listed for it can be applied once it has
joined.

1 to add, 2 to change, 2 to remove.
2 replicas start, 2 replicas stop (1 for a new revision), 1 replica is evicted;
4.5 GiB and files of unknown size for 1 replica to move to thor.

To apply it:
  flotilla apply -f ${path} --prune --data ${data}
`)
  })

  test('sends the document as it was read', async () => {
    const text = `
models:
  - name: qwen
    engine: sim
rules:
nodes:
  - { name: thor, labels: { tier: "7" } }
`
    const { calls } = await runOnDocument(['plan'], { 'POST /api/plan': aPlanView() }, { text })
    expect(calls).toMatchObject([
      [
        'POST /api/plan',
        {
          document: {
            models: [{ name: 'qwen', engine: 'sim' }],
            rules: [],
            nodes: [{ name: 'thor', labels: { tier: '7' } }],
          },
          prune: false,
        },
      ],
    ])
  })

  test('without anything to change it says so, and what is impossible all the same', async () => {
    const nothing = aPlanView({ steps: [aPlanStep()], impossible: [anImpossible({ is_new: false })] })
    const { stdout } = await runOnDocument(['plan'], { 'POST /api/plan': nothing })
    expect(stdout).toBe(`What stays impossible
  big: 1 replica finds no place, as now

There is nothing to change.
`)
  })

  test.each([
    [['--detailed-exitcode'], fullPlan, 2],
    [['--detailed-exitcode'], aPlanView(), 0],
    [[], fullPlan, 0],
  ])('%j of a plan ends as it is asked to', async (flags, answer, code) => {
    expect((await runOnDocument(['plan', ...flags], { 'POST /api/plan': answer })).code).toBe(code)
  })

  test('fits 80 columns, whatever is in it, and is cut where it is long', async () => {
    const long = 'ü'.repeat(150)
    const crowded = aPlanView({
      changes: Array.from({ length: 60 }, (_, i) =>
        aPlanChange({
          name: `m${i} ${long}`,
          fields: [{ field: `options.${long}`, before: null, after: '船'.repeat(90) }],
        }),
      ),
      steps: Array.from({ length: 50 }, (_, i) => aPlanStep({ key: `m${i} ${long}#0`, node_name: long })),
      impossible: Array.from({ length: 25 }, () =>
        anImpossible({ model_name: long, advice: [`label ${long}`], is_busy: true }),
      ),
      frozen_nodes: [long],
      is_complete: false,
    })
    const { stdout } = await runOnDocument(['plan'], { 'POST /api/plan': crowded })
    const lines = stdout.split('\n')
    const tooWide = lines.filter((line) => widthOf(line) > 80)
    // Names to copy are never broken, and stand on lines of their own.
    expect(tooWide.filter((line) => !line.includes('flotilla apply') && !line.startsWith('ü'))).toEqual([])
    expect(stdout).toContain('and 10 more; --json shows all')
    expect(stdout).toContain('and 10 steps more; --json shows all')
    expect(stdout).toContain('and 5 models more; --json shows all')
    expect(stdout).toContain('There is more to do than could be looked at.')
  })

  test('names from elsewhere cannot write on the terminal', async () => {
    const bad = 'a\u001b[2Jb'
    const evil = aPlanView({
      changes: [aPlanChange({ name: bad, fields: [{ field: bad, before: bad, after: bad }], warning: bad })],
      steps: [aPlanStep({ key: bad, node_name: bad, kind: 'stop', why: bad })],
      moves: [{ node_name: bad, bytes: 1, unknown: 0 }],
      impossible: [anImpossible({ model_name: bad, advice: [bad] })],
      absent_nodes: [bad],
      frozen_nodes: [bad],
    })
    expect((await runOnDocument(['plan'], { 'POST /api/plan': evil })).stdout).not.toContain('\u001b')
  })

  test('a document has to be named', async () => {
    const { code, stderr } = await flotilla(['plan'])
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'flotilla plan: --file is needed. See flotilla plan --help.\n',
    })
  })
})

describe('flotilla whatif', () => {
  test('asks for several things at once and tells what follows', async () => {
    const answer = aPlanView({
      changes: [
        aPlanChange({ noun: 'machine', name: 'thor', action: 'remove' }),
        aPlanChange({ noun: 'machine', name: 'new-1', action: 'add' }),
      ],
      steps: [aPlanStep({ kind: 'lost' }), aPlanStep({ node_name: 'new-1' })],
      frozen_nodes: ['thor', 'loki'],
    })
    const flags = [
      '--node-lost',
      'thor',
      '--add-node',
      '2x24GB',
      '--add-node=cpu',
      '--min',
      'a=b=3',
      '--min',
      'llama=0',
    ]
    const { code, stdout, calls } = await runOnDocument(['whatif', ...flags], { 'POST /api/whatif': answer })
    expect(code).toBe(0)
    expect(calls).toEqual([
      [
        'POST /api/whatif',
        {
          drain: [],
          node_lost: ['thor'],
          add_nodes: [
            { spec: '2x24GB', labels: {} },
            { spec: 'cpu', labels: {} },
          ],
          rules: [
            { model_name: 'a=b', min_replicas: 3 },
            { model_name: 'llama', min_replicas: 0 },
          ],
        },
      ],
    ])
    expect(stdout).toBe(`Machines
  - thor
  + new-1

What follows
  STEP   REPLICA  NODE   ON   MEMORY  NOTE
  lost   qwen#0   thor   cpu       -  gone with its node
  start  qwen#0   new-1  cpu       -

thor, loki together are most of the cluster. Lost at once, they count as a
network failure: their replicas are not replaced until an admin runs flotilla
nodes accept-loss.

1 to add, 0 to change, 1 to remove.
1 replica starts, 1 replica is lost; nothing to move.
`)
  })

  test.each([
    [[], 'if what? Name --node-lost, --drain, --add-node or --min'],
    [['--min', 'llama'], '--min: expected model=number, got "llama"'],
    [['--min', 'llama=many'], '--min: expected model=number'],
  ])('%j is a mistake', async (flags, problem) => {
    const { code, stderr } = await runOnDocument(['whatif', ...flags], {})
    expect(code).toBe(2)
    expect(stderr).toContain(problem)
  })
})
