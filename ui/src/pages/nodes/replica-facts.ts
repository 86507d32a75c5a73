import type { ReplicaView } from '../../../../src/api/admin/schemas.ts'
import { bytesText } from '../../format/bytes.ts'

/** `<model>#<index>`: what names a replica on its node, in logs too. */
export function keyOf({ model_name: name, replica_index: index }: ReplicaView): string {
  return `${name}#${index}`
}

/** How many replicas of each model there are. */
export function countByModel(replicas: readonly ReplicaView[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { model_name: name } of replicas) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** Of the model that has the most of them: those that run or are about to. */
export function mostOfOneModel(replicas: readonly ReplicaView[]): number {
  return Math.max(0, ...countByModel(replicas.filter(({ state }) => state !== 'failed')).values())
}

export function inFlightOf(replicas: readonly ReplicaView[]): number {
  return replicas.reduce((sum, { in_flight: count }) => sum + count, 0)
}

type Progress = NonNullable<ReplicaView['progress']>

/** From 0 to 1; undefined while nobody knows the whole. */
export function shareOf({ done_bytes: done, total_bytes: total }: Progress): number | undefined {
  return total ? Math.min(1, done / total) : undefined
}

/** `43 % of 4.1 GB, 52 MB/s, file 2 of 3`, with what is not known left out. */
export function progressText(progress: Progress): string {
  const { file, done_bytes: done, total_bytes: total, bytes_per_s: rate } = progress
  const far = total
    ? `${Math.floor(100 * shareOf(progress)!)} % of ${bytesText(total)}`
    : done > 0
      ? `${bytesText(done)} so far`
      : (file ?? '')
  const files =
    progress.file_index && (progress.total_files ?? 0) > 1
      ? `file ${progress.file_index} of ${progress.total_files}`
      : ''
  return [far, rate ? `${bytesText(rate)}/s` : '', files].filter((text) => text !== '').join(', ')
}

/** What is held for a replica, on its GPUs if it has some, and what it was seen to take of the same memory. */
export function memoryOfReplica({ claim, measured }: ReplicaView): { held: number | null; measured: number | null } {
  const isOnGpu = claim ? claim.devices.length > 0 : (measured?.devices?.length ?? 0) > 0
  const sum = (devices: readonly { bytes: number }[]): number => devices.reduce((total, { bytes }) => total + bytes, 0)
  if (!isOnGpu) return { held: claim?.ram ?? null, measured: measured?.ram ?? null }
  const seen = measured?.devices ?? []
  return { held: claim && sum(claim.devices), measured: seen.length > 0 ? sum(seen) : null }
}

export interface Trouble {
  what: string
  /** How the engine ended, where the text above does not say it. */
  exit: string | undefined
  /** The last that the engine said. */
  lines: readonly string[]
}

/** Why a replica failed, without saying anything twice: workers put what they know into the first text. */
export function troubleOf({ error, last_exit: exit }: ReplicaView): Trouble {
  const [what = '', ...more] = (error ?? 'It failed without saying why.').trim().split('\n')
  const isTold = exit !== null && what.includes(String(exit.signal ?? exit.code))
  return {
    what,
    exit: exit && !isTold ? exitText(exit) : undefined,
    lines: more.length > 0 ? more : (exit?.last_lines ?? []),
  }
}

function exitText({ code, signal }: NonNullable<ReplicaView['last_exit']>): string {
  if (signal !== null) return `The engine was ended by ${signal}.`
  return code === null ? 'The engine could not be watched to its end.' : `The engine ended with exit code ${code}.`
}
