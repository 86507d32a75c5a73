import fc from 'fast-check'
import { aClaim, aModel, aNode, aNodeEngine, aReplica, aRule, aWorld } from '../../../test/support/builders.ts'
import { isEnding } from '../lifecycle/states.ts'
import type { PlacePolicy } from '../placement/types.ts'
import {
  replicaStates,
  type Device,
  type ModelLoad,
  type NodeEngine,
  type Replica,
  type Selector,
  type World,
} from '../types.ts'

/** Worlds of a few nodes and models, for properties. Sizes are small numbers: what matters is that some fit and some do not. */

const GPU = 8
const MODELS = 4

const engineOf = (kind: string): Record<string, NodeEngine> => {
  const uses = { device: 'either' } as const
  if (kind === 'none') return {}
  return { sim: aNodeEngine({ uses, whyNot: kind === 'broken' ? 'no program' : null }) }
}
const gpus = (count: number): Device[] =>
  Array.from({ length: count }, (_, index) => ({
    index,
    name: 'gpu',
    totalVram: GPU,
    availableVram: null,
    unified: false,
  }))
const labelled = (tier: string | undefined) => (tier === undefined ? {} : { tier })
const tier = fc.constantFrom('fast', 'slow', undefined)

const arbitraryNode = fc.record({
  approved: fc.boolean(),
  desired: fc.constantFrom('active' as const, 'active' as const, 'draining' as const),
  liveness: fc.constantFrom('online' as const, 'online' as const, 'unreachable' as const, 'offline' as const),
  maxReplicasPerModel: fc.integer({ min: 1, max: 3 }),
  labels: tier.map(labelled),
  engines: fc.constantFrom('sim', 'sim', 'broken', 'none').map(engineOf),
  devices: fc.nat({ max: 2 }).map(gpus),
  vramBudget: fc.constantFrom(null, null, 6),
})

const arbitraryModel = fc.record({
  memory: fc.constantFrom(
    null,
    { vram: 2, ram: 1 },
    { vram: 5, ram: 0 },
    { vram: GPU, ram: 0 },
    { vram: 2 * GPU, ram: 0 },
  ),
  antiAffinity: fc.constantFrom(null, null, 'apart'),
  rule: fc.option(
    fc.record({
      min: fc.nat({ max: 4 }),
      cap: fc.nat({ max: 5 }),
      isEverywhere: fc.constantFrom(false, false, true),
      scaleToZeroAfterMs: fc.constantFrom(null, 10_000, 3_600_000),
      nodeSelector: fc.constantFrom<Selector[]>(
        {},
        {},
        { tier: 'fast' },
        { tier: '!slow' },
        { tier: ['fast', 'slow'] },
        { '!tier': '' },
      ),
    }),
  ),
  isWanted: fc.boolean(),
})

const arbitraryReplica = fc.record({
  node: fc.nat({ max: 3 }),
  model: fc.nat({ max: MODELS - 1 }),
  replicaIndex: fc.nat({ max: 3 }),
  state: fc.constantFrom(...replicaStates),
  revision: fc.constantFrom('r1', 'r1', 'r0'),
  bytes: fc.constantFrom(0, 2, 5),
  inFlight: fc.constantFrom(0, 0, 1),
  isMeasured: fc.boolean(),
})

export const arbitraryWorld: fc.Arbitrary<World> = fc
  .record({
    nodes: fc.array(arbitraryNode, { maxLength: 4 }),
    models: fc.array(arbitraryModel, { maxLength: MODELS }),
    replicas: fc.array(arbitraryReplica, { maxLength: 10 }),
  })
  .map(({ nodes, models, replicas }) => {
    const rows = new Map<string, Replica>()
    for (const { node, model, bytes, isMeasured, ...fields } of replicas) {
      const devices = nodes[node]?.devices
      if (!devices) continue
      const claim = aClaim({ devices: devices.length > 0 && bytes > 0 ? [{ index: 0, bytes }] : [] })
      const hasServed = fields.state === 'ready' || isEnding(fields.state)
      const times = { readySinceMs: hasServed ? 0 : null, retryAtMs: fields.state === 'failed' ? 500 : null }
      const measured = isMeasured && hasServed ? { devices: claim.devices, ram: 0 } : null
      const row = aReplica({ nodeId: `n${node}`, modelName: `m${model}`, claim, measured, ...times, ...fields })
      rows.set(`${node} ${model} ${fields.replicaIndex}`, row)
    }
    return aWorld({
      nodes: nodes.map((fields, i) => aNode({ id: `n${i}`, ...fields })),
      models: models.map(({ memory, antiAffinity }, i) => aModel({ name: `m${i}`, memory, antiAffinity })),
      rules: models.flatMap(({ rule }, i) => {
        if (!rule) return []
        const { min, cap, isEverywhere, nodeSelector, scaleToZeroAfterMs } = rule
        const about = { modelName: `m${i}`, nodeSelector }
        if (isEverywhere) return aRule({ ...about, minReplicas: 0, spreadAll: true })
        const maxReplicas = cap === 0 ? 0 : Math.max(min, cap)
        const idle = { scaleToZeroAfterMs: min > 0 ? null : scaleToZeroAfterMs }
        return aRule({ ...about, minReplicas: min, maxReplicas, ...idle })
      }),
      demands: models.flatMap(({ isWanted }, i) =>
        isWanted ? { modelName: `m${i}`, sinceMs: i % 2, wantedUntilMs: Number.MAX_SAFE_INTEGER } : [],
      ),
      replicas: [...rows.values()],
    })
  })

/** How busy each model is, turn by turn; quiet afterwards. */
export const arbitraryLoads: fc.Arbitrary<ModelLoad[][]> = fc.array(
  fc.array(
    fc.record({
      modelName: fc.nat({ max: MODELS - 1 }).map((i) => `m${i}`),
      busy: fc.constantFrom(0, 0.5, 1),
      waiting: fc.constantFrom(0, 0, 3),
    }),
    { maxLength: MODELS },
  ),
  { maxLength: 6 },
)

export const arbitraryPolicy = fc.constantFrom<PlacePolicy[]>('spread', 'pack')
