import { readFileSync } from 'node:fs'

/**
 * How many processes the kernel has killed for want of memory: in the control group that the worker and its engines are
 * in, else on the whole machine. Only that it grows means something. Undefined where the kernel does not count. Its log,
 * which names the processes, is for root alone, and in containers for nobody.
 */
export function kernelKills(read: (path: string) => string = readText): number | undefined {
  for (const path of [...groupFiles(attempt(read, '/proc/self/cgroup') ?? ''), '/proc/vmstat']) {
    const count = /^oom_kill (\d+)$/m.exec(attempt(read, path) ?? '')?.[1]
    if (count !== undefined) return Number(count)
  }
  return undefined
}

/** Lines are `0::/path` (v2) and `9:memory:/path` (v1). A container finds its own group at the mount itself. */
function groupFiles(groups: string): string[] {
  const unified = /^0::(\/.*)$/m.exec(groups)?.[1]
  const memory = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(\/.*)$/m.exec(groups)?.[1]
  const paths: string[] = []
  if (memory !== undefined) {
    paths.push(`/sys/fs/cgroup/memory${memory}/memory.oom_control`, '/sys/fs/cgroup/memory/memory.oom_control')
  }
  if (unified !== undefined) paths.push(`/sys/fs/cgroup${unified}/memory.events`, '/sys/fs/cgroup/memory.events')
  return paths
}

function attempt(read: (path: string) => string, path: string): string | undefined {
  try {
    return read(path)
  } catch {
    return undefined
  }
}

/** Small files of the kernel: nothing of them is on a disk. */
function readText(path: string): string {
  return readFileSync(path, 'latin1')
}
