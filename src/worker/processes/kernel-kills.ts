import { readFileSync } from 'node:fs'

/**
 * How many processes the kernel has killed for lack of memory: in the control group of the worker and its engines, else
 * on the whole machine. Only growth of the number is meaningful. Undefined where the kernel does not count. The
 * kernel's log, which names the processes, is readable by root only, and not at all in containers.
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

/** Files of the kernel, in memory: a synchronous read does not wait for a disk. */
function readText(path: string): string {
  return readFileSync(path, 'latin1')
}
