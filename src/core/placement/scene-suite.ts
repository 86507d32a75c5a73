import { aModel, aNode, aNodeEngine, aReplica, aClaim } from '../../../test/support/builders.ts'
import type { Claim, Device, Model, Node, NodeEngine, Replica } from '../types.ts'
import { Fleet } from './fleet.ts'
import { place, type PlaceOptions } from './place.ts'
import type { Need } from '../memory/types.ts'
import type { Placement } from './types.ts'

/** Machines and needs for the tests of placement, in GiB. */

export const GIB = 2 ** 30

/** Takes GPUs where there are some. */
export const llama: NodeEngine = aNodeEngine({ version: '1', uses: { device: 'either' } })
/** Takes most of each GPU that it gets. */
export const vllm: NodeEngine = aNodeEngine({
  version: '1',
  memory: 'preallocated',
  uses: {
    device: 'gpu',
    share: { option: 'gpu_memory_utilization', default: 0.9 },
    devicesOption: 'tensor_parallel_size',
  },
})

export function gpu(index: number, totalGib: number, fields: Partial<Device> = {}): Device {
  const totalVram = totalGib * GIB
  return { index, name: `card ${totalGib}`, totalVram, availableVram: null, unified: false, ...fields }
}

export function gpus(count: number, totalGib: number): Device[] {
  return Array.from({ length: count }, (_, index) => gpu(index, totalGib))
}

export function aGpuNode(devices: readonly Device[], fields: Partial<Node> = {}): Node {
  return aNode({ devices, engines: { llama, vllm }, ...fields })
}

/** A model that needs so much, as an admin said. */
export function aBigModel(vramGib: number, fields: Partial<Model> = {}): Model {
  return aModel({ engine: 'llama', memory: { vram: vramGib * GIB, ram: 0 }, ...fields })
}

export function needFor(model: Model, fields: Partial<Need> = {}): Need {
  return { model, selector: {}, facts: null, learned: [], ...fields }
}

export function claimOn(bytesByIndex: Record<number, number>, fields: Partial<Claim> = {}): Claim {
  const devices = Object.entries(bytesByIndex).map(([index, gib]) => ({ index: Number(index), bytes: gib * GIB }))
  return aClaim({ devices, ...fields })
}

/** Another model's replica. */
export function aTenant(fields: Partial<Replica> = {}): Replica {
  return aReplica({ modelName: 'tenant', ...fields })
}

/** All models whose replicas are of engine `llama`, unless told otherwise. */
export function placeOn(
  need: Need,
  nodes: readonly Node[],
  replicas: readonly Replica[] = [],
  options: Partial<PlaceOptions> & { models?: readonly Model[] } = {},
): Placement {
  const { models, ...rest } = options
  const names = new Set(replicas.map(({ modelName }) => modelName))
  names.delete(need.model.name)
  const others = [...names].map((name) => aModel({ name, engine: need.model.engine }))
  return place(need, new Fleet(nodes, replicas, models ?? [need.model, ...others]), { policy: 'spread', ...rest })
}
