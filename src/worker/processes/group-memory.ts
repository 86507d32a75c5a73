import { readFileSync } from 'node:fs'
import { membersOf } from './engine-members.ts'
import type { ProcessIdentity } from './process-identity.ts'

/** Memory of an engine's processes, in bytes. Undefined without /proc. */
export async function groupMemory(identity: ProcessIdentity): Promise<number | undefined> {
  const members = await membersOf(identity, { byGroup: true, byMark: false })
  return members && residentMemory(members.map(({ pid }) => pid))
}

/**
 * The RAM that the processes of one engine hold together: the sum of what each has alone, plus the largest share that
 * one of them has of what they may share (mapped files, such as the model and libraries; shared memory), since that is
 * mostly the same. A model's file counts in full even while another replica maps it, because a replica must be able to
 * run alone. The kernel's proportional figure (PSS) would split it, and computing that walks every page, for many
 * milliseconds with large models, while the engine waits.
 */
export function residentMemory(pids: readonly number[]): number {
  const parts = pids.map(residentParts)
  const most = (part: 'file' | 'shared'): number => Math.max(0, ...parts.map((one) => one[part]))
  return parts.reduce((sum, { own }) => sum + own, 0) + most('file') + most('shared')
}

function residentParts(pid: number): { own: number; file: number; shared: number } {
  try {
    return parseParts(readFileSync(`/proc/${pid}/status`, 'latin1'))
  } catch {
    // The process has ended meanwhile.
    return { own: 0, file: 0, shared: 0 }
  }
}

/** Kernels that do not report the parts (gVisor) report the sum. */
export function parseParts(status: string): { own: number; file: number; shared: number } {
  const bytes = (name: string): number | undefined => {
    const kib = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]
    return kib === undefined ? undefined : Number(kib) * 1024
  }
  const own = bytes('RssAnon')
  if (own === undefined) return { own: bytes('VmRSS') ?? 0, file: 0, shared: 0 }
  return { own, file: bytes('RssFile') ?? 0, shared: bytes('RssShmem') ?? 0 }
}
