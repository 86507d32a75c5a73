import { join } from 'node:path'
import { expect, test } from 'vitest'
import { aModel, aNode, aNodeEngine, aReplica, aRule, aWorld } from '../../../../test/support/builders.ts'
import type { Model, ModelFacts, Node, Replica, Rule } from '../../types.ts'
import { evictables } from '../eviction.ts'
import { Fleet } from '../fleet.ts'
import { needOf } from '../need-of.ts'
import { place } from '../place.ts'
import { aBigModel, aGpuNode, claimOn, GIB, gpu, gpus } from '../scene-suite.ts'
import type { PlacePolicy } from '../types.ts'
import { renderFleet, renderPlacement } from './render-suite.ts'

/**
 * Fleets as they stand in people's rooms, with what goes where and why not elsewhere, as pages to be read: the `.txt` files
 * beside this. `vitest run --project unit src/core/placement/fleets -u` writes them anew; read the difference.
 */

const NOW_MS = 1_000_000

interface Case {
  what: string
  model: Model
  selector?: Rule['nodeSelector']
  policy?: PlacePolicy
  payloadGib?: number
}

/** Idle for long enough to be stopped, unless told otherwise. */
function running(nodeId: string, modelName: string, fields: Partial<Replica>): Replica {
  return aReplica({
    id: `${nodeId}/${modelName}`,
    nodeId,
    modelName,
    readySinceMs: 0,
    lastUsedMs: NOW_MS - 60_000,
    ...fields,
  })
}

function seen(bytesByIndex: Record<number, number>): Replica['measured'] {
  return { devices: claimOn(bytesByIndex).devices, ram: GIB }
}

function page(title: string, nodes: readonly Node[], replicas: readonly Replica[], cases: readonly Case[]): string {
  const lines = renderFleet(title, nodes, replicas)
  for (const { what, model, selector, policy = 'spread', payloadGib } of cases) {
    const others = [...new Set(replicas.map(({ modelName }) => modelName))].filter((name) => name !== model.name)
    const models = [model, ...others.map((name) => aBigModel(1, { name }))]
    const facts: ModelFacts[] =
      payloadGib === undefined
        ? []
        : [{ modelName: model.name, revision: model.revision, payloadBytes: payloadGib * GIB, header: null }]
    const rules: Rule[] = selector ? [aRule({ modelName: model.name, nodeSelector: selector })] : []
    const world = aWorld({ nowMs: NOW_MS, nodes, models, rules, replicas, facts })
    const placement = place(needOf(world, model), new Fleet(nodes, replicas, models), {
      policy,
      evictable: evictables(world),
    })
    lines.push(...renderPlacement(what, model, placement))
  }
  return `${lines.join('\n')}\n`
}

const small = aBigModel(6, { name: 'small' })
const medium = aBigModel(20, { name: 'medium' })
const large = aBigModel(40, { name: 'large' })
const mystery = aModel({ name: 'mystery', engine: 'llama' })
const served = aModel({ name: 'served', engine: 'vllm' })
const cpuOnly = aModel({ name: 'embedder', engine: 'sim', memory: { vram: 0, ram: 3 * GIB } })

test.for([
  [
    'single-24',
    () => {
      const thor = aGpuNode([gpu(0, 24, { availableVram: 15 * GIB })], { id: 'thor', totalRam: 64 * GIB })
      const chat = running('thor', 'chat', { claim: claimOn({ 0: 10 }), measured: seen({ 0: 9 }) })
      return page(
        'One card of 24 GB, a chat model on it',
        [thor],
        [chat],
        [
          { what: 'fits beside it, by what the chat model was measured to take', model: small },
          { what: 'has room when the idle chat model is stopped', model: medium },
          { what: 'never fits', model: large },
          { what: 'nobody knows its need: it wants the card for itself', model: mystery },
          { what: 'an engine that takes 90 % of the card', model: served },
          { what: 'is there once, and the node has one slot for each model', model: { ...small, name: 'chat' } },
        ],
      )
    },
  ],
  [
    'single-24-busy',
    () => {
      const thor = aGpuNode([gpu(0, 24)], { id: 'thor', totalRam: 64 * GIB })
      const busy = running('thor', 'chat', { claim: claimOn({ 0: 14 }), inFlight: 2 })
      const ending = running('thor', 'old', { claim: claimOn({ 0: 6 }), state: 'draining' })
      return page(
        'One card of 24 GB, a busy model and one that ends',
        [thor],
        [busy, ending],
        [
          { what: 'fits when what ends has gone', model: small },
          { what: 'can only wait for the busy one', model: medium },
        ],
      )
    },
  ],
  [
    'two-24',
    () => {
      const thor = aGpuNode(gpus(2, 24), { id: 'thor', totalRam: 128 * GIB, availableDisk: 30 * GIB })
      const chat = running('thor', 'chat', { claim: claimOn({ 0: 10 }) })
      return page(
        'Two cards of 24 GB, a chat model on the first',
        [thor],
        [chat],
        [
          { what: 'goes to the empty card', model: small },
          { what: 'goes to the fuller card when packing', model: small, policy: 'pack' },
          { what: 'is split when the chat model has gone', model: large },
          { what: 'nobody knows its need: the empty card', model: mystery },
          { what: 'its files do not fit on the disk', model: small, payloadGib: 30 },
          { what: 'on two cards at once', model: { ...served, options: { tensor_parallel_size: 2 } } },
        ],
      )
    },
  ],
  [
    'eight-80',
    () => {
      const dgx = aGpuNode(gpus(8, 80), {
        id: 'dgx',
        totalRam: 2000 * GIB,
        maxReplicasPerModel: 2,
        vramBudget: 600 * GIB,
      })
      const replicas = [
        running('dgx', 'coder', { claim: claimOn({ 0: 72, 1: 72 }), inFlight: 4 }),
        running('dgx', 'chat', { claim: claimOn({ 2: 40 }), lastUsedMs: NOW_MS - 600_000 }),
        running('dgx', 'voice', { claim: claimOn({ 3: 30 }) }),
      ]
      return page('Eight cards of 80 GB with a budget of 600 GiB', [dgx], replicas, [
        { what: 'one empty card', model: aBigModel(70, { name: 'seventy' }) },
        { what: 'the tightest card', model: aBigModel(35, { name: 'half' }), policy: 'pack' },
        { what: 'three cards', model: aBigModel(220, { name: 'huge' }) },
        { what: 'the one that was idle longest goes', model: aBigModel(400, { name: 'giant' }) },
        { what: 'is more than can be freed of busy ones now', model: aBigModel(500, { name: 'titan' }) },
        { what: 'four cards, 90 % of each', model: { ...served, options: { tensor_parallel_size: 4 } } },
        { what: 'eight cards, and two are busy', model: { ...served, options: { tensor_parallel_size: 8 } } },
      ])
    },
  ],
  [
    'jetson',
    () => {
      const orin = aGpuNode([gpu(0, 64, { unified: true, availableVram: 55 * GIB })], {
        id: 'orin',
        totalRam: 64 * GIB,
        availableRam: 55 * GIB,
        engines: { ...aGpuNode([]).engines, sim: aNodeEngine() },
      })
      const starting = running('orin', 'embed', {
        claim: claimOn({}, { ram: 8 * GIB }),
        state: 'loading',
        readySinceMs: null,
      })
      return page(
        'A Jetson, whose card shares the memory of the machine',
        [orin],
        [starting],
        [
          { what: 'fits', model: large },
          {
            what: 'does not: what starts in memory counts for the card as well',
            model: aBigModel(47, { name: 'larger' }),
          },
          { what: 'nobody knows its need: all that is left', model: mystery },
          { what: 'in memory alone', model: cpuOnly },
        ],
      )
    },
  ],
  [
    'cpu-only',
    () => {
      const fields = { engines: { ...aGpuNode([]).engines, sim: aNodeEngine() }, maxReplicasPerModel: 2 }
      const nuc = aNode({ id: 'nuc', totalRam: 32 * GIB, availableRam: 24 * GIB, ...fields })
      const pi = aNode({ id: 'pi', totalRam: 8 * GIB, availableRam: 6 * GIB, ...fields })
      const chat = running('nuc', 'chat', {
        claim: claimOn({}, { ram: 5 * GIB }),
        measured: { devices: null, ram: 4 * GIB },
      })
      return page(
        'Two machines without a card',
        [nuc, pi],
        [chat],
        [
          { what: 'the idle machine', model: cpuOnly },
          { what: 'the tighter machine when packing', model: cpuOnly, policy: 'pack' },
          { what: 'the only one that is large enough', model: medium },
          { what: 'nobody knows its need: by the size of its files', model: mystery, payloadGib: 4 },
          { what: 'needs a GPU', model: served },
          { what: 'is larger than either', model: large },
        ],
      )
    },
  ],
  [
    'mixed',
    () => {
      const engines = { ...aGpuNode([]).engines, sim: aNodeEngine() }
      const nodes = [
        aGpuNode(gpus(2, 24), { id: 'atlas', totalRam: 128 * GIB, labels: { tier: 'gpu' }, engines }),
        aGpuNode([gpu(0, 48)], { id: 'bear', totalRam: 64 * GIB, desired: 'draining', engines }),
        aNode({ id: 'cloud', totalRam: 32 * GIB, engines, labels: { tier: 'cpu' } }),
        aGpuNode([gpu(0, 80)], { id: 'dawn', totalRam: 256 * GIB, approved: false, engines }),
        aGpuNode([gpu(0, 24)], { id: 'ember', totalRam: 64 * GIB, liveness: 'unreachable', engines }),
        aGpuNode([gpu(0, 24)], {
          id: 'frost',
          totalRam: 64 * GIB,
          labels: { tier: 'gpu' },
          engines: { llama: aNodeEngine({ whyNot: 'the program llama-server is neither installed nor in PATH' }) },
        }),
        aNode({ id: 'guest', nodeType: 'agent' }),
      ]
      const replicas = [
        running('atlas', 'chat', { claim: claimOn({ 0: 22 }), inFlight: 1 }),
        running('atlas', 'voice', { claim: claimOn({ 1: 8 }), lastUsedMs: NOW_MS - 20_000 }),
      ]
      return page('Machines of all kinds', nodes, replicas, [
        { what: 'a busy card is better than an idle machine without one', model: small },
        { what: 'only where the label says', model: small, selector: { tier: 'gpu' } },
        { what: 'something must go', model: medium, selector: { tier: 'gpu' } },
        { what: 'fits on none that may be used', model: large, selector: { tier: 'gpu' } },
        { what: 'a label that no node has', model: small, selector: { zone: 'north' } },
        { what: 'needs a GPU', model: served },
      ])
    },
  ],
] as const)('what goes where on the fleet %s', async ([name, draw]) => {
  const text = draw()
  expect(text).toContain('->')
  await expect(text).toMatchFileSnapshot(join(import.meta.dirname, `${name}.txt`))
})
