import { describe, expect, test } from 'vitest'
import type { ModelExplanation } from '../../api/admin/model-schemas.ts'
import { aCluster, flotilla, refused } from '../../../test/support/cli/cli.ts'
import { aLoading, aLoadStatus, aModelView, anExplanation } from '../../../test/support/cli/cli-views.ts'

const GIB = 2 ** 30

async function run(args: string[], answer: unknown) {
  const cluster = await aCluster({ 'GET /api/models/qwen/explain': answer, 'GET /api/models': [aModelView()] })
  return { ...(await flotilla(['why', ...args, '--data', cluster.data])), calls: cluster.calls }
}

function aNode(
  name: string,
  fields: Partial<ModelExplanation['nodes'][number]> = {},
): ModelExplanation['nodes'][number] {
  return { node_id: name, node_name: name, replicas: [], refusal: null, ...fields }
}

type Refusal = NonNullable<ModelExplanation['nodes'][number]['refusal']>

function aRefusal(fields: Partial<Refusal>): Refusal {
  return { filter: 'memory', needed: 14.25 * GIB, available: 11.125 * GIB, where: 'gpu 0', text: '', ...fields }
}

function aReplica(fields: Partial<ModelExplanation['nodes'][number]['replicas'][number]> = {}) {
  const nothing = { in_flight: 0, claimed: 14.25 * GIB, measured: null, error: null }
  return { key: 'qwen#0', state: 'ready', is_current: true, ...nothing, ...fields }
}

describe('flotilla why, of a model', () => {
  test('that has all that is asked for reads as all well, though one more finds no room', async () => {
    const nodes = [
      aNode('thor', { replicas: [aReplica()], refusal: aRefusal({ filter: 'slot', needed: 2, available: 1 }) }),
    ]
    const met = anExplanation({
      wanted: { min: 1, max: 1 },
      wanted_since: null,
      nodes,
      next: null,
      advice: ['raise it'],
    })
    const well = (await run(['qwen'], { ...met, status: aLoadStatus({ state: 'ready' }) })).stdout
    expect(well).toContain('it has all the replicas that are asked for')
    expect(well).toContain('would find no place, and none is asked for')
    expect(well).not.toContain('What would help')
    expect((await run(['qwen'], { ...met, wanted: { min: 2, max: 2 } })).stdout).toContain('What would help')
  })

  test('tells where it runs, where it could, why not elsewhere, and what is next', async () => {
    const nowMs = Date.now()
    const explanation = anExplanation({
      status: aLoadStatus({ state: 'loading', loading: aLoading({ node: 'spark', eta_seconds: 42 }) }),
      wanted: { min: 2, max: 0 },
      wanted_since: nowMs - 200_000,
      memory: [
        {
          device_kind: 'NVIDIA GeForce RTX 4090',
          source: 'computed',
          vram: 14.25 * GIB,
          ram: 0.5 * GIB,
          share: null,
          parts: { weights: 13 * GIB, kv_cache: 1.25 * GIB, compute: 0, projector: 0, overhead: 0 },
        },
        { device_kind: 'cpu', source: 'unknown', vram: 0, ram: 0, share: null, parts: null },
        { device_kind: 'H100', source: 'explicit', vram: 0, ram: 0, share: 0.9, parts: null },
      ],
      nodes: [
        aNode('loki', {
          refusal: aRefusal({ filter: 'selector', needed: 'tier=gpu', available: 'tier=cpu', where: null }),
        }),
        aNode('thor', { replicas: [aReplica({ in_flight: 2, measured: 13.875 * GIB })], refusal: aRefusal({}) }),
        aNode('odin', {
          replicas: [aReplica({ state: 'failed', error: 'CUDA out of memory\u001B[2J' })],
          refusal: aRefusal({ filter: 'slot', needed: 1, available: 0, where: null }),
        }),
        aNode('spark', { replicas: [aReplica({ state: 'staging', is_current: false })] }),
      ],
      next: { node_name: 'spark', devices: [0, 1], victims: ['small#0'] },
      advice: ['free 3.1 GiB on gpu 0 of thor', 'label loki tier=gpu'],
      last_decision: { at: nowMs - 65_000, action: 'replica.placed', reason: 'qwen#0 is placed on spark' },
      last_load: { at: nowMs - 7_300_000, node_name: 'thor', ms: 12_300 },
    })
    const { code, stdout, calls } = await run(['qwen'], explanation)
    expect({ code, calls }).toEqual({ code: 0, calls: ['GET /api/models/qwen/explain'] })
    expect(stdout).toBe(
      `qwen  loading
  Now        staging on spark, 43 % of 4.1 GiB, about 42s left
  Wanted     its rule asks for at least 2 replicas, no cap; requested 3m ago
  Next one   would go to spark, gpu 0 and 1, after stopping small#0
  Decided    1m ago: qwen#0 is placed on spark
  Loaded     2h ago on thor, in 12.3 s
  Revision   r1

Replicas
  REPLICA  NODE   STATE          IN FLIGHT     CLAIM  MEASURED
  qwen#0   thor   ready                  2  14.3 GiB  13.9 GiB
  qwen#0   odin   failed                 0  14.3 GiB         -
    CUDA out of memory
  qwen#0   spark  staging (old)          0  14.3 GiB         -

What one replica takes
  ON                            VRAM      RAM  SOURCE
  NVIDIA GeForce RTX 4090   14.3 GiB  0.5 GiB  computed
    weights 13.0 GiB, kv cache 1.3 GiB
  cpu                              ?        ?  unknown
  H100                     90 % each        -  explicit

May it have another replica?
  NODE   ANSWER        NEEDED    AVAILABLE
  spark  yes
  thor   no: memory    14.3 GiB  11.1 GiB gpu 0
  loki   no: selector  tier=gpu  tier=cpu
  odin   no: slot      1         0

What would help
  - free 3.1 GiB on gpu 0 of thor
  - label loki tier=gpu
`,
    )
  })

  test('one that nobody asks for, in an empty cluster', async () => {
    const { stdout } = await run(['qwen'], anExplanation())
    expect(stdout).toBe(
      `qwen  stopped
  Now        Nobody asks for it: its first request loads it.
  Wanted     no
  Next one   would find no place
  Revision   r1

May it have another replica?
  There are no nodes.
`,
    )
  })

  test('when it is tried again', async () => {
    const failed = aLoadStatus({ state: 'failed', reason: 'It broke.', next_attempt_at: Date.now() + 25_900 })
    const { stdout } = await run(['qwen'], anExplanation({ status: failed }))
    expect(stdout).toMatch(/\n {2}Now {8}It broke\.\n(.*\n)? {2}Next try {3}in 2\ds\n/)
  })

  test('fits 80 columns with a thousand nodes of any name, and what others wrote moves no cursor', async () => {
    const long = `node-${'x'.repeat(60)}\u001B[2J`
    const refusal = aRefusal({
      filter: 'anti_affinity',
      needed: 'n'.repeat(90),
      available: 'a'.repeat(90),
      where: null,
    })
    const nodes = Array.from({ length: 1000 }, (_, i) =>
      aNode(`${long}${i}`, {
        refusal,
        replicas: [aReplica({ key: 'k'.repeat(99), state: 'installing', error: 'e'.repeat(400) })],
      }),
    )
    const memory = {
      device_kind: 'd'.repeat(90),
      source: 'computed',
      vram: GIB,
      ram: GIB,
      share: null,
      parts: { weights: GIB },
    }
    const reason = 'word '.repeat(60).trim()
    const status = aLoadStatus({ state: 'refused', reason })
    const next = { node_name: long, devices: [], victims: ['v'.repeat(50)] }
    const { stdout } = await run(
      ['qwen'],
      anExplanation({ status, nodes, memory: [memory] as never, advice: [reason], next }),
    )
    const wide = stdout.split('\n').filter((line) => line.length > 80)
    expect(wide.filter((line) => !/x{60}|v{50}/.test(line))).toEqual([])
    expect(stdout).not.toContain('\u001B')
    expect(stdout.match(/and 960 more; --json has all/g)).toHaveLength(2)
  })

  test("--json prints the API's JSON", async () => {
    const explanation = { ...anExplanation(), later: 1 }
    expect(JSON.parse((await run(['qwen', '--json'], explanation)).stdout)).toEqual(explanation)
  })

  test('what is nearly the name of a model was meant to be one', async () => {
    const { code, stderr, calls } = await run(['qwne'], undefined)
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'There is no model "qwne". Did you mean qwen?\n' })
    expect(calls).toEqual(['GET /api/models/qwne/explain', 'GET /api/requests/qwne', 'GET /api/models'])
  })

  test('a failure of the frontend is no reason to look for a request', async () => {
    const { code, stderr, calls } = await run(['qwen'], refused(503, 'unavailable', 'The store is away.'))
    expect({ code, stderr, calls }).toEqual({
      code: 1,
      stderr: 'The store is away.\n',
      calls: ['GET /api/models/qwen/explain'],
    })
  })
})
