import { MOST_FILE_BYTES, readLine, type System } from './system.ts'
import { wholeNumber } from './whole-number.ts'

export interface CgroupLimit {
  limitBytes: number
  /** Without the inactive page cache, which is reclaimed first; Kubernetes counts it the same way. */
  usedBytes: number
}

/** The same three files under the two generations of control groups. */
const generations = {
  v2: { mount: '/sys/fs/cgroup', limit: 'memory.max', used: 'memory.current', cache: 'inactive_file' },
  v1: {
    mount: '/sys/fs/cgroup/memory',
    limit: 'memory.limit_in_bytes',
    used: 'memory.usage_in_bytes',
    cache: 'total_inactive_file',
  },
} as const
type Generation = keyof typeof generations

/** The limits, tighter than the machine's memory, of all groups that contain this process. */
export async function readLimits(system: System, machineBytes: number): Promise<CgroupLimit[]> {
  const paths = parseSelfCgroup((await system.readFile('/proc/self/cgroup', 16 * 1024)) ?? '')
  const limits: CgroupLimit[] = []
  for (const generation of ['v2', 'v1'] as const) {
    for (const path of levels(paths[generation])) {
      const limit = await readLimit(system, generation, path)
      // "No limit" of v1 is a number near 2^63, which this leaves out too.
      if (limit !== null && limit.limitBytes < machineBytes) limits.push(limit)
    }
  }
  return limits
}

/**
 * Lines are `0::/path` (v2) and `9:memory:/path` (v1). A container may see the host's path, though its own group is at
 * the mount: paths that do not exist cost nothing, and the root is always read.
 */
export function parseSelfCgroup(text: string): Record<Generation, string> {
  const paths = { v2: '/', v1: '/' }
  for (const line of text.split('\n')) {
    const [id, controllers = '', ...rest] = line.trim().split(':')
    const path = rest.join(':')
    if (!path.startsWith('/')) continue
    if (id === '0' && controllers === '') paths.v2 = path
    else if (controllers.split(',').includes('memory')) paths.v1 = path
  }
  return paths
}

const MOST_LEVELS = 16

/** The group and its parents, `/a/b` → `/a/b`, `/a`, ``: a limit at any level binds. */
export function levels(path: string): string[] {
  // `..` stands for groups outside our namespace, which cannot be read.
  const parts = path.split('/').filter((part) => part !== '' && part !== '.' && part !== '..')
  const all = parts.map((_, index) => `/${parts.slice(0, parts.length - index).join('/')}`)
  return [...all.slice(0, MOST_LEVELS - 1), '']
}

async function readLimit(system: System, generation: Generation, path: string): Promise<CgroupLimit | null> {
  const { mount, limit, used, cache } = generations[generation]
  const limitBytes = wholeNumber(await readLine(system, `${mount}${path}/${limit}`))
  // `max` means no limit; a limit of 0 is set for a moment while a group is being removed.
  if (limitBytes === null || limitBytes === 0) return null
  const usage = wholeNumber(await readLine(system, `${mount}${path}/${used}`)) ?? 0
  const stat = (await system.readFile(`${mount}${path}/memory.stat`, MOST_FILE_BYTES)) ?? ''
  const cached = wholeNumber(new RegExp(`^${cache} (\\d+)$`, 'm').exec(stat)?.[1]) ?? 0
  return { limitBytes, usedBytes: Math.max(0, usage - cached) }
}
