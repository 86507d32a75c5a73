import { systemClock, type Clock } from '../../platform/run/clock.ts'
import { silentLogger, type Logger } from '../../platform/run/log.ts'
import { findAmd } from './amd.ts'
import { findApple } from './apple.ts'
import { toDevices } from './devices.ts'
import { measureDisk } from './disk.ts'
import type { Edge } from './edge.ts'
import { createFacts } from './facts.ts'
import type { Found, GpuVendor, ReadHardware, Reading, Space } from './hardware.ts'
import { findIntel } from './intel.ts'
import { measureRam } from './memory.ts'
import { findNvidia } from './nvidia.ts'
import { realSystem } from './real-system.ts'
import { createSource, type Sample, type Source } from './source.ts'
import type { System } from './system.ts'
import { createTools } from './tools.ts'

export interface HardwareProbe {
  /** Starts a measurement, or joins the running one. Never rejects. */
  measure(): Promise<ReadHardware>
}

export interface HardwareProbeOptions {
  /** Where models are kept: its disk is reported. The folder need not exist yet. */
  folder: string
  system?: System
  clock?: Clock
  log?: Pick<Logger, 'info' | 'warn'>
}

/** How long a measurement waits for each part of the machine. */
const PATIENCE_MS = 2000

/** The first one waits longer: a worker that registers without its GPUs gets the wrong labels and replicas. */
const FIRST_PATIENCE_MS = 10_000

/** Cheap enough for every heartbeat: some small files, and one short process on machines with a GPU tool. */
export function createHardwareProbe(options: HardwareProbeOptions): HardwareProbe {
  const { folder, system = realSystem, clock = systemClock, log = silentLogger } = options
  const edge: Edge = { system, tools: createTools(system, clock), facts: createFacts(clock) }
  const source = <T>(name: string, read: () => Promise<Reading<T>>): Source<T> =>
    createSource({ name, read, clock, log })

  const ram = source('ram', () => measureRam(edge))
  const disk = source('disk', () => measureDisk(system, folder))
  // One vendor a machine, the first that has devices: engines are built for one vendor, and a second one's devices
  // (mostly the processor's small GPU) must not be added to what they can use.
  const gpus: { vendor: GpuVendor; source: Source<Found[]> }[] =
    system.platform === 'darwin'
      ? [{ vendor: 'apple', source: source('apple', () => findApple(edge)) }]
      : [
          { vendor: 'nvidia', source: source('nvidia', () => findNvidia(edge)) },
          { vendor: 'amd', source: source('amd', () => findAmd(edge)) },
          { vendor: 'intel', source: source('intel', () => findIntel(edge)) },
        ]

  async function sampleGpus(patienceMs: number): Promise<{ vendor: GpuVendor; sample: Sample<Found[]> } | null> {
    for (const { vendor, source } of gpus) {
      const sample = await source.sample(patienceMs)
      if (sample && sample.value.length > 0) return { vendor, sample }
    }
    return null
  }

  let patienceMs = FIRST_PATIENCE_MS
  async function measure(): Promise<ReadHardware> {
    const calledMs = clock.nowMs()
    const parts = Promise.all([sampleGpus(patienceMs), ram.sample(patienceMs), disk.sample(patienceMs)])
    patienceMs = PATIENCE_MS
    const [gpu, ramNow, diskNow] = await parts
    const machine = ramNow?.value ?? NOTHING
    const space = diskNow?.value ?? NOTHING
    return {
      gpu_vendor: gpu?.vendor ?? null,
      devices: gpu ? toDevices(gpu.sample.value, machine, gpu.sample.ageMs) : [],
      total_ram: machine.totalBytes,
      available_ram: machine.availableBytes,
      total_disk: space.totalBytes,
      available_disk: space.availableBytes,
      begunMs: Math.min(gpu?.sample.begunMs ?? calledMs, ramNow?.begunMs ?? calledMs),
    }
  }

  let underWay: Promise<ReadHardware> | undefined
  return {
    measure() {
      underWay ??= measure().finally(() => {
        underWay = undefined
      })
      return underWay
    },
  }
}

const NOTHING: Space = { totalBytes: 0, availableBytes: 0 }
