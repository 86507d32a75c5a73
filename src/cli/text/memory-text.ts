import type { ReplicaView } from '../../api/admin/schemas.ts'
import { gib } from '../terminal/format.ts'

/** `4.1 GiB computed`: what is held for a replica, on its GPUs if it has some, and where the figure comes from. */
export function claimText(replica: ReplicaView): string {
  const bytes = claimedBytes(replica)
  return bytes === null ? '-' : `${gib(bytes)} ${replica.claim!.source}`
}

/** `3.9 GiB`: what a replica really takes, of the same memory. */
export function measuredText(replica: ReplicaView): string {
  const bytes = measuredBytes(replica)
  return bytes === null ? '-' : gib(bytes)
}

/** The memory of replicas, each at its largest: measured if available, else reserved. Null while unknown. */
export function takenBytes(replicas: readonly ReplicaView[]): number | null {
  const known = replicas.flatMap((replica) => measuredBytes(replica) ?? claimedBytes(replica) ?? [])
  return known.length === 0 ? null : Math.max(...known)
}

function claimedBytes({ claim }: ReplicaView): number | null {
  if (!claim) return null
  return claim.devices.length > 0 ? sum(claim.devices) : claim.ram
}

/** Null when it was not measured, or its VRAM cannot be told from that of others. */
function measuredBytes({ claim, measured }: ReplicaView): number | null {
  if (!measured) return null
  const isOnGpu = claim ? claim.devices.length > 0 : (measured.devices?.length ?? 0) > 0
  if (!isOnGpu) return measured.ram
  return measured.devices && measured.devices.length > 0 ? sum(measured.devices) : null
}

function sum(devices: readonly { bytes: number }[]): number {
  return devices.reduce((total, { bytes }) => total + bytes, 0)
}
