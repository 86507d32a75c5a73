import { memoryOn } from '../../core/memory/need.ts'
import { needOf } from '../../core/placement/need-of.ts'
import type { Model, Node, Replica, World } from '../../core/types.ts'
import type { Metrics, Sample } from '../../platform/metrics/metrics.ts'

/** Memory of nodes and replicas: what there is, what is held, what was estimated and what was measured. */
export function memoryGauges(metrics: Metrics, world: () => World | undefined): void {
  metrics.gauge(
    'flotilla_node_memory_bytes',
    'Memory of a node by device (gpu 0, ram, disk): in all, free as the node reports it, and claimed by replicas.',
    ['node', 'device', 'kind'],
    () => nodeSamples(world()),
  )
  metrics.gauge(
    'flotilla_replica_memory_bytes',
    'Memory of a replica on devices (vram) and in the machine (ram): claimed for it, estimated from its file, measured.',
    ['model', 'node', 'replica', 'where', 'kind'],
    () => replicaSamples(world()),
  )
}

function* nodeSamples(world: World | undefined): Iterable<Sample> {
  const onNode = Map.groupBy(world?.replicas ?? [], ({ nodeId }) => nodeId)
  for (const node of world?.nodes ?? []) {
    const claims = (onNode.get(node.id) ?? []).flatMap(({ claim }) => claim ?? [])
    const onDevice = (index: number): number =>
      sum(claims.flatMap(({ devices }) => devices.map((one) => (one.index === index ? one.bytes : 0))))
    for (const { index, totalVram, availableVram } of node.devices) {
      yield* kinds([node.name, `gpu ${index}`], totalVram, availableVram, onDevice(index))
    }
    yield* kinds([node.name, 'ram'], node.totalRam, node.availableRam, sum(claims.map(({ ram }) => ram)))
    yield* kinds([node.name, 'disk'], node.totalDisk, node.availableDisk, sum(claims.map(({ disk }) => disk)))
  }
}

function* kinds(labels: string[], total: number | null, free: number | null, claimed: number): Iterable<Sample> {
  if (total !== null) yield { labels: [...labels, 'total'], value: total }
  if (free !== null) yield { labels: [...labels, 'available'], value: free }
  yield { labels: [...labels, 'claimed'], value: claimed }
}

function* replicaSamples(world: World | undefined): Iterable<Sample> {
  if (!world) return
  const nodes = new Map(world.nodes.map((node) => [node.id, node]))
  const models = new Map(world.models.map((model) => [model.name, model]))
  for (const replica of world.replicas) {
    const node = nodes.get(replica.nodeId)
    if (!node) continue
    const labels = [replica.modelName, node.name, replica.id]
    const { claim, measured } = replica
    if (claim) yield* pair(labels, 'claimed', bytesOf(claim.devices), claim.ram)
    const estimate = estimated(world, models.get(replica.modelName), node, replica)
    if (estimate) yield* pair(labels, 'estimated', estimate.vram, estimate.ram)
    if (measured) yield* pair(labels, 'measured', measured.devices && bytesOf(measured.devices), measured.ram)
  }
}

function* pair(labels: string[], kind: string, vram: number | null, ram: number): Iterable<Sample> {
  if (vram !== null) yield { labels: [...labels, 'vram', kind], value: vram }
  yield { labels: [...labels, 'ram', kind], value: ram }
}

/** By what its file says alone, so that it can be held against what was measured. */
function estimated(world: World, model: Model | undefined, node: Node, { revision }: Replica) {
  if (model?.revision !== revision) return undefined
  const need = memoryOn(node, { ...needOf(world, model), learned: [], model: { ...model, memory: null } })
  return need.source === 'computed' && need.share === null ? need : undefined
}

function bytesOf(devices: readonly { bytes: number }[]): number {
  return sum(devices.map(({ bytes }) => bytes))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
