import type { MemoryNeed, Need } from './types.ts'
import type { EngineUses, LearnedMemory, ModelOptions, NeedSource, Node } from '../types.ts'
import { estimateMemory } from './estimate.ts'
import { memorySettings } from './settings.ts'

/** A start that ran out of memory says only that this was too little. */
const OUT_OF_MEMORY_FACTOR = 1.25
/** Of the machine's memory, for an engine that takes a share of its devices: Python, its libraries, the pages it copies from. */
const SHARE_HOST_BYTES = 2 * 2 ** 30

const anyDevice: EngineUses = { device: 'either' }

/**
 * What a replica of this model takes on this node. The most trusted source wins: the admin's figure, what replicas took
 * before, what the engine always takes, the estimate from the file's header; otherwise the need is unknown. An engine that
 * takes a share of each device refuses to start where less is free, so its share goes before what was measured.
 */
export function memoryOn(node: Node, need: Need): MemoryNeed {
  const { model } = need
  const engine = node.engines[model.engine]
  const uses = engine?.uses ?? anyDevice
  const isOnGpu = runsOnGpu(node, uses, model.options)
  const deviceCount = isOnGpu ? devicesOf(uses, model.options) : 0
  const known = (source: NeedSource, { vram, ram }: Bytes): MemoryNeed => {
    const bytes = isOnGpu ? { vram, ram } : { vram: 0, ram: vram + ram }
    return { source, ...bytes, deviceCount, share: null, parts: null }
  }

  if (model.memory) return known('explicit', model.memory)
  const learned = learnedFor(need, deviceKindOf(node, isOnGpu), engine?.version ?? null)
  if (isOnGpu && uses.share) {
    const ram = learned?.ram ?? SHARE_HOST_BYTES
    return { ...known('computed', { vram: 0, ram }), share: shareOf(uses.share, model.options) }
  }
  if (learned?.learnedFrom === 'measured') return known('learned', learned)
  const own = ownBytes(uses, model.options)
  const computed = own === undefined ? fromHeader(need, deviceCount) : known('computed', { vram: own, ram: 0 })
  if (!learned) return computed
  const enough = known('learned', { vram: raised(learned.vram), ram: raised(learned.ram) })
  return enough.vram + enough.ram > computed.vram + computed.ram ? enough : computed
}

/** What figures that were seen hold for: `cpu`, or the GPU by its name. */
export function deviceKindOf(node: Node, isOnGpu: boolean): string {
  if (!isOnGpu) return 'cpu'
  return [...new Set(node.devices.map(({ name }) => name))].join(' + ') || 'gpu'
}

interface Bytes {
  vram: number
  ram: number
}

/** An engine for GPUs alone needs one even where there is none; placement refuses that node. */
function runsOnGpu(node: Node, { device }: EngineUses, options: ModelOptions): boolean {
  if (device !== 'either') return device === 'gpu'
  return node.devices.length > 0 && memorySettings(options).gpuLayers !== 0
}

function devicesOf({ devicesOption }: EngineUses, options: ModelOptions): number {
  const count = devicesOption === undefined ? 1 : Number(options[devicesOption] ?? 1)
  return Number.isSafeInteger(count) && count >= 1 ? count : 1
}

/** The figure of this version of the engine, else the largest of any other version: versions differ little, devices much. */
function learnedFor({ model, learned }: Need, kind: string, version: string | null): LearnedMemory | undefined {
  const same = learned.filter(({ revision, deviceKind }) => revision === model.revision && deviceKind === kind)
  const exact = same.find(({ engineVersion }) => engineVersion === version)
  return exact ?? same.toSorted((a, b) => b.vram + b.ram - (a.vram + a.ram))[0]
}

function shareOf({ option, default: usual }: NonNullable<EngineUses['share']>, options: ModelOptions): number {
  const share = Number(options[option] ?? usual)
  return share > 0 && share <= 1 ? share : usual
}

/** What the engine takes whatever the file; undefined when that depends on the file. */
function ownBytes({ bytes, bytesOption }: EngineUses, options: ModelOptions): number | undefined {
  if (bytes === undefined && bytesOption === undefined) return undefined
  const more = bytesOption === undefined ? 0 : Number(options[bytesOption] ?? 0)
  return (bytes ?? 0) + (Number.isFinite(more) && more > 0 ? Math.ceil(more) : 0)
}

function fromHeader({ model, facts }: Need, deviceCount: number): MemoryNeed {
  const header = facts?.revision === model.revision ? facts.header : null
  if (!header) return { source: 'unknown', vram: 0, ram: 0, deviceCount, share: null, parts: null }
  const estimate = estimateMemory(header, memorySettings(model.options), deviceCount)
  return { source: 'computed', ...estimate, deviceCount, share: null }
}

function raised(bytes: number): number {
  return Math.ceil(bytes * OUT_OF_MEMORY_FACTOR)
}
