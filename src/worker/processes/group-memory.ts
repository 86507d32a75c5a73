import { readFileSync } from 'node:fs'
import { membersOf } from './engine-members.ts'
import type { ProcessIdentity } from './process-identity.ts'

/** Memory of an engine's processes, in bytes. Undefined without /proc. */
export async function groupMemory(identity: ProcessIdentity): Promise<number | undefined> {
  const members = await membersOf(identity, { byGroup: true, byMark: false })
  return members && residentMemory(members.map(({ pid }) => pid))
}

/**
 * The RAM that processes of one engine hold together. What each has alone is added up; of what they may share (mapped
 * files: the model, libraries; shared memory) the most that one of them has stands for all, since it is mostly the same.
 * So a model's file counts in full even while another replica maps it, too: a replica must be able to live alone. The
 * kernel's own share of each page (PSS) would count it by halves, and to learn it every page is walked, for many
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
    // Ended meanwhile.
    return { own: 0, file: 0, shared: 0 }
  }
}

/** Kernels that do not tell the parts apart (gVisor) tell the sum. */
export function parseParts(status: string): { own: number; file: number; shared: number } {
  const bytes = (name: string): number | undefined => {
    const kib = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]
    return kib === undefined ? undefined : Number(kib) * 1024
  }
  const own = bytes('RssAnon')
  if (own === undefined) return { own: bytes('VmRSS') ?? 0, file: 0, shared: 0 }
  return { own, file: bytes('RssFile') ?? 0, shared: bytes('RssShmem') ?? 0 }
}
