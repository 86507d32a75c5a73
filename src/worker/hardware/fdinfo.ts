/** What one client of a graphics driver holds, in bytes. A client is one open handle of a device. */
export interface DrmClient {
  pid: number
  /** The PCI address of the device, `0000:03:00.0`. */
  address: string
  /** The device's own memory. */
  vram: number
  /** RAM that the device uses. */
  gtt: number
}

/**
 * Lines of `/proc/<pid>/fdinfo/<fd>:drm-<key>:\t<value>`, as grep prints them. A client that has several descriptors,
 * in one process or inherited by several, is returned once. Keys: amdgpu has `memory-vram`, and `resident-vram` from
 * Linux 6.13 on; xe has `resident-vram0` for each tile; i915 has `resident-local0`.
 */
export function parseClients(output: string): DrmClient[] {
  const clients = new Map<string, DrmClient>()
  for (const [file, fields] of fieldsByFile(output)) {
    const address = fields.get('pdev')
    const pid = Number(file.split('/')[2])
    if (address === undefined) continue
    const key = `${address} ${fields.get('client-id') ?? file}`
    if (clients.has(key)) continue
    const sum = (region: RegExp): number => {
      const resident = bytesOf(fields, 'resident', region)
      return resident ?? bytesOf(fields, 'memory', region) ?? 0
    }
    clients.set(key, { pid, address, vram: sum(/^(vram|local)\d*$/), gtt: sum(/^gtt$/) })
  }
  return [...clients.values()]
}

function fieldsByFile(output: string): Map<string, Map<string, string>> {
  const files = new Map<string, Map<string, string>>()
  for (const line of output.split('\n')) {
    const [, file, key, value] = /^(\/proc\/\d+\/fdinfo\/\d+):drm-([\w-]+):\s*(.*)$/.exec(line) ?? []
    if (file === undefined || key === undefined || value === undefined) continue
    const fields = files.get(file) ?? new Map<string, string>()
    files.set(file, fields.set(key, value.trim()))
  }
  return files
}

const UNITS: Readonly<Record<string, number>> = { '': 1, KiB: 1024, MiB: 1024 ** 2 }

/** Undefined when the driver does not report this kind of figure. */
function bytesOf(fields: ReadonlyMap<string, string>, kind: string, region: RegExp): number | undefined {
  let sum: number | undefined
  for (const [key, value] of fields) {
    if (!key.startsWith(`${kind}-`) || !region.test(key.slice(kind.length + 1))) continue
    const [, count, unit = ''] = /^(\d{1,15})\s*(KiB|MiB)?$/.exec(value) ?? []
    if (count !== undefined) sum = (sum ?? 0) + Number(count) * UNITS[unit]!
  }
  return sum
}
