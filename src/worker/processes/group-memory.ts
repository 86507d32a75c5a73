import { readFileSync } from 'node:fs'
import { membersOf } from './engine-members.ts'
import type { ProcessIdentity } from './process-identity.ts'

/**
 * Resident memory of an engine's processes, in bytes. Pages that they share count once for each: good for seeing that it
 * grows, not for adding up. Undefined without /proc.
 */
export async function groupMemory(identity: ProcessIdentity): Promise<number | undefined> {
  const members = await membersOf(identity, { byGroup: true, byMark: false })
  return members?.reduce((sum, { pid }) => sum + residentBytes(pid), 0)
}

function residentBytes(pid: number): number {
  try {
    const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? []
    return Number(kib ?? 0) * 1024
  } catch {
    // Ended meanwhile.
    return 0
  }
}
