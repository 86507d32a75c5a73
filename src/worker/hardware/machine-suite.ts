import type { Ran, System } from './system.ts'

/**
 * A machine as hardware detection sees it. Among those in the files beside this one, the H200 was recorded (its uuid is
 * made up). All others follow documented formats and published outputs: this code has not run on those machines yet.
 */
export interface Machine {
  platform?: string
  arch?: string
  /** The output of each command line; a command that is missing here is not installed. */
  commands?: Record<string, string | { code: number; stdout: string; stderr?: string }>
  files?: Record<string, string>
  memory?: { totalBytes: number; availableBytes: number }
}

export const GIB = 1024 ** 3
export const MIB = 1024 ** 2
export const NVIDIA_QUERY =
  'nvidia-smi --query-gpu=index,uuid,name,memory.total,memory.used,memory.free --format=csv,noheader,nounits'
export const ROCM_QUERY = 'rocm-smi --showproductname --showuniqueid --showmeminfo vram --json'
export const PROFILER_QUERY = 'system_profiler SPDisplaysDataType -json'

/** A System that is the described machine. Its folders are those of its files. */
export function systemOf(machine: Machine): System & { ran: string[] } {
  const files = machine.files ?? {}
  const ran: string[] = []
  return {
    ran,
    platform: machine.platform ?? 'linux',
    arch: machine.arch ?? 'x64',
    async run(program, args): Promise<Ran> {
      const line = [program, ...args].join(' ')
      ran.push(line)
      const output = machine.commands?.[line]
      if (output === undefined) return { kind: 'missing' }
      if (typeof output === 'string') return { kind: 'exited', code: 0, stdout: output, stderr: '' }
      return { kind: 'exited', stderr: '', ...output }
    },
    readFile: async (path, maxBytes) => files[path]?.slice(0, maxBytes) ?? null,
    async list(folder) {
      const inside = Object.keys(files).filter((path) => path.startsWith(`${folder}/`))
      const names = inside.map((path) => path.slice(folder.length + 1).split('/')[0]!)
      return names.length > 0 ? [...new Set(names)] : null
    },
    statfs: async (path) => (path === '/' ? { totalBytes: 500 * GIB, availableBytes: 200 * GIB } : null),
    memory: () => machine.memory ?? { totalBytes: 16 * GIB, availableBytes: 8 * GIB },
  }
}

export function meminfo(totalKib: number, availableKib: number): string {
  const free = Math.floor(availableKib / 2)
  return [
    `MemTotal:       ${totalKib} kB`,
    `MemFree:        ${free} kB`,
    `MemAvailable:   ${availableKib} kB`,
    'Buffers:           36604 kB',
    'Cached:           951628 kB',
    'SwapCached:            0 kB',
    '',
  ].join('\n')
}

/** Files of one card under /sys/class/drm. */
export function card(number: number, pciAddress: string, files: Record<string, string>): Record<string, string> {
  const folder = `/sys/class/drm/card${number}/device`
  const entries = Object.entries(files).map(([name, text]) => [`${folder}/${name}`, `${text}\n`] as const)
  const uevent = `DRIVER=amdgpu\nPCI_CLASS=38000\nPCI_SLOT_NAME=${pciAddress}\nMODALIAS=pci:v00001002\n`
  return { [`${folder}/uevent`]: uevent, ...Object.fromEntries(entries) }
}

/** 126 GiB, most of it available. */
export const plainRam = { '/proc/meminfo': meminfo(131980916, 120000000) }
