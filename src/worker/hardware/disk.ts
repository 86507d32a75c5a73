import path from 'node:path'
import type { Reading, Space } from './hardware.ts'
import type { System } from './system.ts'

const MOST_PARENTS = 64

/** The disk that holds `folder`, or will hold it once the folder is made. */
export async function measureDisk(system: System, folder: string): Promise<Reading<Space>> {
  let at = path.resolve(folder)
  for (let i = 0; i < MOST_PARENTS; i += 1) {
    const space = await system.statfs(at)
    if (space !== null) return { ok: true, value: tidy(space) }
    if (path.dirname(at) === at) break
    at = path.dirname(at)
  }
  return { ok: false, why: `no part of ${folder} exists` }
}

/** Network file systems sometimes report negative or non-finite numbers. */
function tidy({ totalBytes, availableBytes }: Space): Space {
  const total = Number.isFinite(totalBytes) ? Math.max(0, totalBytes) : 0
  return { totalBytes: total, availableBytes: Number.isFinite(availableBytes) ? clamp(availableBytes, total) : 0 }
}

function clamp(value: number, most: number): number {
  return Math.max(0, Math.min(value, most))
}
