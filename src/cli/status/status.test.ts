import { describe, expect, test } from 'vitest'
import type { ClusterView, Problem } from '../../api/admin/cluster-schemas.ts'
import { aCluster, flotilla } from '../../../test/support/cli/cli.ts'
import { widthOf } from '../terminal/text-width.ts'

const GIB = 2 ** 30

type Node = ClusterView['nodes'][number]
type Model = ClusterView['models'][number]

const aNode = (fields: Partial<Node> = {}): Node => ({
  id: 'n1',
  name: 'thor',
  node_type: 'backend',
  status: 'healthy',
  replica_count: 1,
  in_flight_count: 0,
  total_vram: 24 * GIB,
  available_vram: 10 * GIB,
  total_ram: 64 * GIB,
  available_ram: 32 * GIB,
  ...fields,
})
const aModel = (fields: Partial<Model> = {}): Model => ({
  name: 'qwen',
  state: 'ready',
  wanted: 1,
  ready: 1,
  replicas: 1,
  in_flight: 0,
  ...fields,
})
const aProblem = (fields: Partial<Problem> = {}): Problem => ({
  kind: 'rule',
  severity: 'error',
  node_id: null,
  node_name: null,
  key: null,
  model_name: 'big',
  text: '0 of 1 replicas serve: thor needs 40.0 GiB on gpu 0, 3.1 GiB are free.',
  advice: 'add a node with 40.0 GiB of free VRAM',
  ...fields,
})

async function status(view: Partial<ClusterView>, flags: string[] = []) {
  const cluster = await aCluster({ 'GET /api/cluster': { nodes: [], models: [], problems: [], ...view } })
  return { ...(await flotilla(['status', ...flags, '--data', cluster.data])), data: cluster.data }
}

describe('flotilla status', () => {
  test('shows nodes, models, and what is wrong with why and what would help', async () => {
    const { code, stdout } = await status({
      nodes: [
        aNode({ in_flight_count: 2 }),
        aNode({ name: 'loki', status: 'offline', replica_count: 0 }),
        aNode({
          name: 'ag',
          node_type: 'agent',
          total_vram: 0,
          available_vram: 0,
          total_ram: null,
          available_ram: null,
        }),
      ],
      models: [
        aModel({ in_flight: 2 }),
        aModel({ name: 'big', state: 'stopped', ready: 0, replicas: 0 }),
        aModel({ name: 'x', wanted: null }),
      ],
      problems: [
        aProblem(),
        aProblem({ kind: 'replica', node_name: 'thor', text: 'qwen#1 failed: no memory', advice: null }),
        aProblem({ kind: 'node', model_name: null, node_name: 'loki', text: 'offline', advice: null }),
        aProblem({ kind: 'frozen', model_name: null, text: '2 nodes went silent together', advice: null }),
        aProblem({
          kind: 'approval',
          severity: 'warning',
          model_name: null,
          node_name: 'new',
          text: 'waits for approval',
          advice: 'approve new',
        }),
      ],
    })
    expect(code).toBe(0)
    expect(stdout).toBe(`3 nodes (2 healthy, 1 offline), 10.0 of 24.0 GiB of VRAM and 32.0 of 64.0 GiB of
RAM free
3 models, 2 of 2 replicas ready, 2 requests in flight

NODE  STATUS   REPLICAS  IN FLIGHT  FREE VRAM  FREE RAM
thor  healthy         1          2  10.0/24    32.0/64
loki  offline         0          0  10.0/24    32.0/64
ag    healthy     agent          0  -          -

MODEL  STATE    WANTED  READY  IN FLIGHT
qwen   ready         1    1/1          2
big    stopped       1    0/0          0
x      ready         -    1/1          0

What is wrong
  ! big: 0 of 1 replicas serve: thor needs 40.0 GiB on gpu 0, 3.1 GiB are free.
    What would help: add a node with 40.0 GiB of free VRAM
  ! thor: qwen#1 failed: no memory
  ! loki: offline
  ! 2 nodes went silent together
  ! new: waits for approval
    What would help: approve new
`)
  })

  test('of an empty cluster says how to begin', async () => {
    const { code, stdout, data } = await status({})
    expect(code).toBe(0)
    expect(stdout).toBe(`No nodes
0 models, 0 of 0 replicas ready, 0 requests in flight

There are no nodes yet: flotilla token --data ${data} shows how a machine joins.

There are no models yet: flotilla models add --data ${data} adds one.

Nothing is wrong.
`)
  })

  test('of 200 nodes and models shows those that need a look first, and counts the rest', async () => {
    const many = Array.from({ length: 200 }, (_, i) => i)
    const { stdout, data } = await status({
      nodes: many.map((i) =>
        aNode({ name: `node-${i}`, status: i === 150 ? 'offline' : 'healthy', in_flight_count: i === 77 ? 9 : 0 }),
      ),
      models: many.map((i) => aModel({ name: `model-${i}`, ready: i === 99 ? 0 : 1 })),
      problems: many.map((i) => aProblem({ model_name: `model-${i}`, text: 'why '.repeat(200) })),
    })
    const lines = stdout.split('\n')
    expect(lines.length).toBeLessThan(100)
    expect(lines.filter((line) => line.startsWith('node-')).slice(0, 2)).toEqual([
      expect.stringMatching(/^node-150 +offline/),
      expect.stringMatching(/^node-77 +healthy/),
    ])
    expect(lines.find((line) => line.startsWith('model-'))).toMatch(/^model-99 /)
    expect(stdout).toContain(`and 188 nodes more (188 healthy): flotilla nodes --data ${data}`)
    expect(stdout).toContain(`and 188 models more: flotilla models --data ${data}`)
    expect(stdout).toContain('and 190 problems more; --json shows all')
  })

  test('fits 80 columns with names of any script and length, and none can write on the terminal', async () => {
    const name = `тор-船-🚢-\u001b[2J${'x'.repeat(90)}`
    const { stdout } = await status({
      nodes: [aNode({ name, status: 'unhealthy', total_vram: 1e15, available_vram: null })],
      models: [aModel({ name, state: 'undefined', wanted: 10_000, in_flight: 1_000_000 })],
      problems: [aProblem({ model_name: name, text: '船'.repeat(400), advice: '船'.repeat(400) })],
    })
    expect(stdout.split('\n').filter((line) => widthOf(line) > 80)).toEqual([])
    expect(stdout).not.toContain('\u001b')
  })

  test('--json is the answer itself', async () => {
    const { stdout } = await status({ nodes: [aNode()] }, ['--json'])
    expect(JSON.parse(stdout)).toEqual({ nodes: [aNode()], models: [], problems: [] })
  })

  test('fails only when the cluster cannot be asked', async () => {
    const said = await flotilla(['status', '--url', 'http://127.0.0.1:1', '--key', 'x'])
    expect(said).toMatchObject({ code: 1, stderr: expect.stringContaining('Cannot reach the frontend') })
  })
})
