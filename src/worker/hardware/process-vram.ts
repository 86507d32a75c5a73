import type { Clock } from '../../platform/run/clock.ts'
import { INTEL_INTEGRATED_AT, listCards } from './drm.ts'
import type { Edge } from './edge.ts'
import { createFacts } from './facts.ts'
import { parseClients } from './fdinfo.ts'
import type { Hardware } from './hardware.ts'
import { NVIDIA_SMI } from './nvidia.ts'
import { realSystem } from './real-system.ts'
import type { System } from './system.ts'
import { createTools } from './tools.ts'
import { times, wholeNumber } from './whole-number.ts'

/** What one process holds of one device. Bytes are null when the process uses the device and the amount is unknown. */
export interface Holding {
  pid: number
  index: number
  bytes: number | null
}

export interface ProcessVram {
  /**
   * What these processes hold of the machine's devices; null when it cannot be measured by process. A process without
   * an entry holds nothing, or cannot be seen. One call of a tool for all of them, none on a machine without a GPU.
   */
  read(machine: Pick<Hardware, 'gpu_vendor' | 'devices'>, pids: readonly number[]): Promise<Holding[] | null>
}

/** Enough for the processes of some hundred engines; the memory of further ones is unknown. */
const MOST_PROCESSES = 2000
const MIB = 1024 * 1024
const APPS = ['--query-compute-apps=pid,gpu_uuid,used_gpu_memory', '--format=csv,noheader,nounits']

export function createProcessVram({ clock, system = realSystem }: { clock: Clock; system?: System }): ProcessVram {
  const edge: Edge = { system, tools: createTools(system, clock), facts: createFacts(clock) }
  return {
    async read({ gpu_vendor: vendor, devices }, pids) {
      if (vendor === null || pids.length === 0) return []
      if (vendor === 'nvidia') return readNvidia(edge, devices, pids)
      if (vendor === 'amd' || vendor === 'intel') return readFdinfo(edge, vendor, devices, pids)
      // Apple's GPU uses the RAM of the process, which is measured as such.
      return null
    },
  }
}

async function readNvidia(
  { tools }: Edge,
  devices: Hardware['devices'],
  pids: readonly number[],
): Promise<Holding[] | null> {
  const ran = await tools.run(NVIDIA_SMI, APPS)
  if (ran.kind !== 'exited' || ran.code !== 0) return null
  const indexes = new Map(devices.map(({ uuid, index }) => [uuid, index]))
  const wanted = new Set(pids)
  return parseComputeApps(ran.stdout).flatMap(({ pid, uuid, bytes }) => {
    const index = indexes.get(uuid)
    return index === undefined || !wanted.has(pid) ? [] : [{ pid, index, bytes }]
  })
}

/** Lines of `pid, uuid, MiB`; under WSL and MIG the last is `[N/A]`. */
export function parseComputeApps(output: string): { pid: number; uuid: string; bytes: number | null }[] {
  return output.split('\n').flatMap((line) => {
    const [pid, uuid = '', used] = line.split(',').map((cell) => cell.trim())
    const number = wholeNumber(pid)
    if (number === null || uuid === '') return []
    const mebibytes = wholeNumber(used?.endsWith('MiB') ? used.slice(0, -3) : used)
    return [{ pid: number, uuid, bytes: times(mebibytes, MIB) }]
  })
}

/**
 * Reads the kernel's figures for every open device file, without a vendor's tool. `grep` reads them, in a process of
 * its own: a read of the file of a process that hangs in its driver hangs as well.
 */
async function readFdinfo(
  { system, tools, facts }: Edge,
  vendor: 'amd' | 'intel',
  devices: Hardware['devices'],
  pids: readonly number[],
): Promise<Holding[] | null> {
  const addresses = await facts.get(`addresses of ${vendor}`, () => addressesOf(system, vendor))
  if (addresses === null) return null
  const folders = pids.slice(0, MOST_PROCESSES).map((pid) => `/proc/${pid}/fdinfo`)
  const ran = await tools.run(['grep'], ['-rs', '^drm-', ...folders])
  // Code 1: no process has a device open; 2: some process has ended meanwhile. What was found counts in any case.
  if (ran.kind !== 'exited') return null
  return parseClients(ran.stdout).flatMap(({ pid, address, vram, gtt }) => {
    const device = devices.find(({ index }) => addresses[index] === address)
    return device ? [{ pid, index: device.index, bytes: device.unified ? vram + gtt : vram }] : []
  })
}

/** The PCI addresses of a vendor's devices, in the order of their indexes. */
async function addressesOf(system: System, vendor: 'amd' | 'intel'): Promise<string[] | null> {
  const id = vendor === 'amd' ? '0x1002' : '0x8086'
  const cards = (await listCards(system))?.filter((card) => card.vendor === id)
  const own = cards?.filter(({ pciAddress }) => vendor === 'amd' || pciAddress !== INTEL_INTEGRATED_AT)
  return own && own.length > 0 ? own.map(({ pciAddress }) => pciAddress ?? '') : null
}
