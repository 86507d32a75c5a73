import { readLimits, type CgroupLimit } from './cgroup.ts'
import type { Edge } from './edge.ts'
import type { Reading, Space } from './hardware.ts'
import { wholeNumber } from './whole-number.ts'

/** The RAM that this worker's processes can use. */
export async function measureRam({ system, tools }: Edge): Promise<Reading<Space>> {
  if (system.platform === 'linux') {
    const machine = parseMeminfo((await system.readFile('/proc/meminfo', 16 * 1024)) ?? '') ?? system.memory()
    const limits = await readLimits(system, machine.totalBytes)
    return { ok: true, value: withinLimits(machine, limits) }
  }
  const machine = withinLimits(system.memory(), [])
  if (system.platform !== 'darwin') return { ok: true, value: machine }
  // The total is hw.memsize already, since the runtime asks sysctl. Its free figure leaves out what macOS can reclaim.
  const ran = await tools.run(['vm_stat', '/usr/bin/vm_stat'], [])
  const availableBytes = ran.kind === 'exited' ? parseVmStat(ran.stdout) : null
  return { ok: true, value: withinLimits({ ...machine, availableBytes: availableBytes ?? machine.availableBytes }, []) }
}

export function parseMeminfo(text: string): Space | null {
  const kibibytes = (field: string): number | null =>
    wholeNumber(new RegExp(`^${field}:\\s*(\\d+) kB$`, 'm').exec(text)?.[1])
  const total = kibibytes('MemTotal')
  if (total === null || total === 0) return null
  // Kernels before 3.14 have no MemAvailable.
  const guess = (kibibytes('MemFree') ?? 0) + (kibibytes('Buffers') ?? 0) + (kibibytes('Cached') ?? 0)
  return { totalBytes: total * 1024, availableBytes: (kibibytes('MemAvailable') ?? guess) * 1024 }
}

/** Free, inactive and speculative pages: what macOS hands out before it compresses or swaps. */
export function parseVmStat(text: string): number | null {
  const pageBytes = wholeNumber(/page size of (\d+) bytes/.exec(text)?.[1])
  const pages = (name: string): number | null =>
    wholeNumber(new RegExp(`^Pages ${name}:\\s*(\\d+)\\.?$`, 'm').exec(text)?.[1])
  const free = pages('free')
  if (pageBytes === null || free === null) return null
  return (free + (pages('inactive') ?? 0) + (pages('speculative') ?? 0)) * pageBytes
}

/** The tightest of the machine and all control groups around us; available never exceeds the total. */
export function withinLimits(machine: Space, limits: readonly CgroupLimit[]): Space {
  let { totalBytes, availableBytes } = machine
  for (const { limitBytes, usedBytes } of limits) {
    totalBytes = Math.min(totalBytes, limitBytes)
    availableBytes = Math.min(availableBytes, Math.max(0, limitBytes - usedBytes))
  }
  return { totalBytes, availableBytes: Math.max(0, Math.min(availableBytes, totalBytes)) }
}
