import type { ModelView } from '../../../../src/api/admin/model-schemas.ts'
import type { ReplicaView } from '../../../../src/api/admin/schemas.ts'
import { fromHeaderMessage } from '../../../../src/api/header-message.ts'
import { estimateMemory } from '../../../../src/core/memory/estimate.ts'
import { memorySettings } from '../../../../src/core/memory/settings.ts'

export interface ModelMemory {
  bytes: number
  /** How that is known: seen, held for it, said by an admin, or worked out from its file. */
  source: 'measured' | 'claimed' | 'set' | 'estimated'
}

type Described = Pick<ModelView, 'memory' | 'header' | 'options'>

/** What one replica of a model takes; the largest where they differ. Undefined when nobody knows. */
export function memoryPerReplica(
  model: Described,
  replicas: readonly ReplicaView[],
  hasGpu: boolean,
): ModelMemory | undefined {
  const measured = Math.max(0, ...replicas.map((replica) => measuredBytes(replica) ?? 0))
  if (measured > 0) return { bytes: measured, source: 'measured' }
  const claimed = Math.max(0, ...replicas.map(claimedBytes))
  if (claimed > 0) return { bytes: claimed, source: 'claimed' }
  if (model.memory) return { bytes: model.memory.vram + model.memory.ram, source: 'set' }
  return model.header ? { bytes: estimatedBytes(model.header, model.options, hasGpu), source: 'estimated' } : undefined
}

/** The same estimate that placement uses: on one GPU, or none. */
export function estimatedBytes(
  header: NonNullable<ModelView['header']>,
  options: ModelView['options'],
  hasGpu: boolean,
): number {
  const { vram, ram } = estimateMemory(fromHeaderMessage(header), memorySettings(options), hasGpu ? 1 : 0)
  return vram + ram
}

export function claimedBytes({ claim }: ReplicaView): number {
  return claim ? sum(claim.devices) + claim.ram : 0
}

/** Null also when its part on devices cannot be told: half a figure beside a whole claim would mislead. */
export function measuredBytes({ claim, measured }: ReplicaView): number | null {
  if (!measured || (measured.devices === null && claim !== null && claim.devices.length > 0)) return null
  return sum(measured.devices ?? []) + measured.ram
}

function sum(devices: readonly { bytes: number }[]): number {
  return devices.reduce((total, { bytes }) => total + bytes, 0)
}
