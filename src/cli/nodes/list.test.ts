import { expect, test } from 'vitest'
import { aNodeView, aReplicaView } from '../../../test/support/cli/cli.ts'
import { painter } from '../terminal/style.ts'
import { widthOf } from '../terminal/text-width.ts'
import { renderNodes } from './list.ts'
import { renderNode } from './show.ts'

const GIB = 2 ** 30
const nowMs = 1_800_000_000_000
const view = { nowMs, width: 80, paint: painter(false), sameCluster: '' }
const seen = { last_heartbeat: nowMs - 3000, liveness_since: nowMs - 7_300_000, registered_at: nowMs - 5 * 86_400_000 }
const labelled = (labels: Record<string, string>) => ({
  labels,
  label_sources: Object.fromEntries(Object.keys(labels).map((key) => [key, 'admin' as const])),
})

const claim = { devices: [{ index: 0, bytes: 5 * GIB }], ram: GIB, disk: 0, source: 'computed' as const }
const measured = { devices: [{ index: 0, bytes: 4.5 * GIB }], ram: GIB / 2 }

const nodes = [
  aNodeView({ ...seen, ...labelled({ tier: 'fast', zone: 'eu-west-1a' }), replica_count: 3, in_flight_count: 2 }),
  aNodeView({ ...seen, name: 'gpu-2-with-a-long-name.example.com', status: 'draining', in_flight_count: 220 }),
  aNodeView({ ...seen, name: 'dgx', total_vram: 1128 * GIB, available_vram: 701 * GIB, total_ram: 2015 * GIB }),
  aNodeView({ ...seen, name: '船団ノード🚢', status: 'unhealthy', total_vram: 0, last_heartbeat: nowMs - 21_000 }),
  aNodeView({ ...seen, name: 'old', status: 'offline', available_vram: null, last_heartbeat: nowMs - 9_000_000 }),
  aNodeView({ ...seen, name: 'new $(reboot) box', status: 'pending', approved: false, replica_count: 0 }),
  aNodeView({ ...seen, name: 'tools', node_type: 'agent', status: 'pending', total_ram: null, last_heartbeat: null }),
]

test('the list of nodes fits 80 columns and ends with what waits for a person', () => {
  expect(`\n${renderNodes(nodes, view).join('\n')}\n`).toMatchInlineSnapshot(`
    "
                                              IN  FREE      FREE               LAST
    NAME             STATUS     REPLICAS  FLIGHT  VRAM      RAM      LABELS    SEEN
    gpu-1            healthy           3       2  18.3/24   41.5/64  tier=fa…  3s
    gpu-2-with-a-l…  draining          1     220  18.3/24   41.5/64            3s
    dgx              healthy           1       0  701/1128  42/2015            3s
    船団ノード🚢      unhealthy         1       0  -         41.5/64            21s
    old              offline           1       0  ?/24      41.5/64            2h
    new $(reboot) …  pending           0       0  18.3/24   41.5/64            3s
    tools            pending       agent       0  18.3/24   -                  never

    2 nodes wait for approval:
      flotilla nodes approve 'new $(reboot) box' tools
    "
  `)
})

test('a wide terminal is used', () => {
  const [title, first] = renderNodes(nodes.slice(0, 2), { ...view, width: 140 })
  expect([title, first]).toMatchInlineSnapshot(`
    [
      "NAME                                STATUS    REPLICAS  IN FLIGHT  FREE VRAM  FREE RAM  LABELS                     LAST SEEN",
      "gpu-1                               healthy          3          2  18.3/24    41.5/64   tier=fast,zone=eu-west-1a  3s",
    ]
  `)
})

test('whatever nodes are called, no line is wider than the terminal', () => {
  const long = { name: '船'.repeat(100), ...labelled({ ['k'.repeat(100)]: 'v'.repeat(200) }) }
  const lines = renderNodes([...nodes.slice(0, 5), aNodeView({ ...seen, ...long })], view)
  for (const line of lines) expect(widthOf(line), line).toBeLessThanOrEqual(80)
})

test('the status has a colour', () => {
  const text = renderNodes(nodes, { ...view, paint: painter(true) }).join('\n')
  for (const painted of ['32mhealthy', '36mdraining', '31munhealthy', '31moffline', '33mpending'])
    expect(text).toContain(`\u001B[${painted}\u001B[39m`)
})

test('the command that approves is split where it gets too long, and leads to the same cluster', () => {
  const many = Array.from({ length: 9 }, (_, i) => aNodeView({ ...seen, name: `gpu-node-${i}`, status: 'pending' }))
  const lines = renderNodes(many, { ...view, sameCluster: ' --url http://x' }).slice(11)
  expect(lines).toEqual([
    '9 nodes wait for approval:',
    '  flotilla nodes approve gpu-node-0 gpu-node-1 gpu-node-2 --url http://x',
    '  flotilla nodes approve gpu-node-3 gpu-node-4 gpu-node-5 --url http://x',
    '  flotilla nodes approve gpu-node-6 gpu-node-7 gpu-node-8 --url http://x',
  ])
})

test('a name that no terminal shows as it is is approved by its id', () => {
  const [, , , , command] = renderNodes([aNodeView({ name: 'a\u202Eb', status: 'pending' })], view)
  expect(command).toBe('  flotilla nodes approve 0198c7a0-1111-7000-8000-000000000001')
})

test('an empty cluster says how to join', () => {
  expect(renderNodes([], view)).toEqual(['There are no nodes yet.', 'flotilla token shows how a machine joins.'])
})

test('one node, with all there is to know', () => {
  const node = aNodeView({
    ...seen,
    max_replicas_per_model: 2,
    max_replicas_per_model_manually_set: true,
    above_cap: 1,
    vram_budget: '80%',
    vram_budget_bytes: 19.2 * GIB,
    vram_budget_manually_set: true,
    vram_budget_left: 14.2 * GIB,
    reserved_vram: 5 * GIB,
    reserved_vram_by_device: [5 * GIB],
    in_flight_count: 2,
  })
  const error = 'The engine ended with code 1 after 3 s. Its last lines:\nCUDA error: out of memory\n\u001B[31mfailed'
  const replicas = [
    aReplicaView({ model_name: 'llama-3.3-70b-instruct', in_flight: 2, claim, measured, last_used_at: nowMs }),
    aReplicaView({ model_name: 'tiny', claim, last_used_at: nowMs - 125_000 }),
    aReplicaView({ model_name: 'qwen', replica_index: 1, state: 'failed', error }),
  ]
  const lines = renderNode(node, replicas, view)
  for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80)
  expect(`\n${lines.join('\n')}\n`).toMatchInlineSnapshot(`
    "
    gpu-1  healthy

    Identity
      Id         0198c7a0-1111-7000-8000-000000000001
      Key        UAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
      Type       backend
      Version    0.1.0
      Address    10.0.0.7:9090
      Joined     5d ago

    State
      Approved   yes
      Desired    active
      Liveness   online for 2h, last heartbeat 3s ago
      In flight  2

    Capacity
      Slots      2 replicas per model, set by an admin; the worker declares 1
                 1 replica runs above that limit; none is stopped for it
      Budget     80% of VRAM (19.2 of 24.0 GiB), set by an admin; the worker
                 declares none
      VRAM       18.3 of 24.0 GiB free, 5.0 GiB reserved, the budget of 19.2 GiB
                 leaves 14.2 GiB
      RAM        41.5 of 64.0 GiB free
      Disk       512.0 of 930.0 GiB free

    Devices
      #  NAME                        USED  RESERVED      FREE     TOTAL  UUID
      0  NVIDIA GeForce RTX 4090  5.8 GiB   5.0 GiB  18.3 GiB  24.0 GiB  GPU-5f2b7c…

    Labels
      KEY                 VALUE   SOURCE
      gpu.vendor          nvidia  auto
      node.replica-slots  1       auto

    Replicas
                                            IN
      REPLICA                   STATE   FLIGHT             CLAIM  MEASURED  UNUSED
      llama-3.3-70b-instruct#0  ready        2  5.0 GiB computed   4.5 GiB  -
      tiny#0                    ready        0  5.0 GiB computed         -  2m
      qwen#1                    failed       0                 -         -  -
        The engine ended with code 1 after 3 s. Its last lines: CUDA error: out of
        memory failed
    "
  `)
})

test('an agent has neither slots nor a budget, and nothing is shown that is not there', () => {
  const agent = aNodeView({
    ...seen,
    node_type: 'agent',
    approved: false,
    status: 'pending',
    devices: [],
    total_vram: 0,
    available_ram: null,
    total_disk: null,
    last_heartbeat: null,
  })
  expect(`\n${renderNode(agent, [], view).slice(9).join('\n')}\n`).toMatchInlineSnapshot(`
    "

    State
      Approved   no
      Desired    active
      Liveness   online for 2h, no heartbeat yet
      In flight  0

    Capacity
      VRAM       none
      RAM        64.0 GiB
      Disk       not known

    Labels
      KEY                 VALUE   SOURCE
      gpu.vendor          nvidia  auto
      node.replica-slots  1       auto
    "
  `)
})

test('of one node it is told how far its replicas are, and each error stands below its own', () => {
  const progress = { file: null, done_bytes: 430 * GIB, total_bytes: 1000 * GIB, bytes_per_s: 52_400_000 }
  const replicas = [
    aReplicaView({ model_name: 'a-model-with-quite-a-long-name', state: 'failed', error: 'x'.repeat(400) }),
    aReplicaView({ model_name: 'qwen', state: 'staging', progress }),
    aReplicaView({ model_name: 'last', state: 'failed', error: 'no GPU' }),
  ]
  const replicaLines = (width: number): string[] => {
    const lines = renderNode(aNodeView(seen), replicas, { ...view, width })
    return lines.slice(lines.indexOf('Replicas') + 1)
  }
  expect(replicaLines(100).slice(-3)).toEqual([
    '  qwen#0                            staging 43 % of 1000.0 GiB, 52 MB/s          0',
    '  last#0                            failed                                       0',
    '    no GPU',
  ])
  expect(replicaLines(60)).toEqual([
    '                                                          IN',
    '  REPLICA                           STATE             FLIGHT',
    '  a-model-with-quite-a-long-name#0  failed                 0',
    ...Array.from({ length: 4 }, () => `    ${'x'.repeat(56)}`),
    '    …',
    '  qwen#0                            staging 43 % of…       0',
    '  last#0                            failed                 0',
    '    no GPU',
  ])
})
