import { z } from 'zod'
import type { EngineProfile } from '../../api/engine-profile.ts'
import type { ModelOptions } from '../../core/types.ts'
import { AppError } from '../../platform/errors.ts'
import type { Hardware } from './hardware.ts'
import type { ProcessVram } from './process-vram.ts'

const variable = 'FLOTILLA_FAKE_DEVICES'

const fakeDevices = z
  .array(
    z.strictObject({
      name: z.string().min(1).max(200),
      total_vram: z.int().positive(),
      unified: z.boolean().default(false),
      /**
       * The memory that can really be used, when that is less than the total: engines that take more run out of memory.
       */
      usable_vram: z.int().nonnegative().optional(),
    }),
  )
  .min(1)
  .max(64)

/** A replica that holds pretended memory. */
export interface Pretender {
  readonly spec: {
    readonly engine: string
    readonly options: ModelOptions
    readonly devices?: readonly number[] | undefined
  }
  readonly state: string
  readonly pid: number | undefined
}

/**
 * Pretended GPUs, for tests and demos on machines without any. A simulated engine holds what it declares
 * (`memory_bytes`), in equal parts on each of its devices, for as long as its process lives.
 */
export class FakeDevices {
  readonly #devices: z.infer<typeof fakeDevices>

  private constructor(devices: z.infer<typeof fakeDevices>) {
    this.#devices = devices
  }

  /**
   * The devices that the environment describes, as a JSON list of `{ name, total_vram }`; undefined when there are
   * none.
   */
  static from(env: Readonly<Record<string, string | undefined>>): FakeDevices | undefined {
    const text = env[variable]
    if (text === undefined || text === '') return undefined
    try {
      return new FakeDevices(fakeDevices.parse(JSON.parse(text)))
    } catch (error) {
      const example = '[{"name":"Pretended 24","total_vram":25769803776}]'
      throw new AppError('usage', `${variable} must be a JSON list of devices, such as ${example}.`, { cause: error })
    }
  }

  get count(): number {
    return this.#devices.length
  }

  /** The machine, with these devices in place of its own. */
  onto<Machine extends Hardware>(machine: Machine, replicas: readonly Pretender[]): Machine {
    const devices = this.#devices.map(({ name, total_vram, unified }, index) => ({
      index,
      uuid: `fake-${index}`,
      name,
      total_vram,
      available_vram: Math.max(0, total_vram - heldOn(index, replicas)),
      unified,
    }))
    return { ...machine, gpu_vendor: 'nvidia', devices }
  }

  /** Stands in for the vendor's tool that reports memory by process. */
  vramOf(replicas: () => readonly Pretender[]): ProcessVram {
    return {
      read: async () =>
        replicas().flatMap((replica) =>
          devicesOf(replica).map((index) => ({ pid: replica.pid ?? -1, index, bytes: shareOf(replica) })),
        ),
    }
  }

  /** Makes the simulated engine need a GPU and take exactly the memory that it declares. */
  profilesFrom(profiles: readonly EngineProfile[]): EngineProfile[] {
    return profiles.map((profile) =>
      profile.name === 'sim'
        ? { ...profile, memory: 'on_load', uses: { device: 'gpu', bytes: 0, bytes_option: 'memory_bytes' } }
        : profile,
    )
  }

  /** Tells a simulated engine how much memory the other replicas leave it, beyond which it fails. */
  environmentFor(spec: Pretender['spec'], replicas: readonly Pretender[]): Record<string, string> {
    const own = (spec.devices ?? []).flatMap((index) => {
      const device = this.#devices[index]
      return device ? [{ index, usable: device.usable_vram ?? device.total_vram }] : []
    })
    if (spec.engine !== 'sim' || own.length === 0) return {}
    const others = replicas.filter((replica) => replica.spec !== spec)
    const free = own.map(({ index, usable }) => Math.max(0, usable - heldOn(index, others)))
    return { SIM_OUT_OF_MEMORY_ABOVE: String(Math.min(...free) * own.length) }
  }
}

function heldOn(index: number, replicas: readonly Pretender[]): number {
  return replicas
    .filter((replica) => devicesOf(replica).includes(index))
    .reduce((sum, replica) => sum + shareOf(replica), 0)
}

/** Empty when the replica holds nothing: it is not a simulated engine, or has no process. */
function devicesOf({ spec, state, pid }: Pretender): readonly number[] {
  return spec.engine === 'sim' && (pid !== undefined || state === 'loading') ? (spec.devices ?? []) : []
}

function shareOf({ spec }: Pretender): number {
  const bytes = Number(spec.options['memory_bytes'] ?? 0)
  return Number.isSafeInteger(bytes) ? Math.ceil(bytes / Math.max(1, spec.devices?.length ?? 1)) : 0
}
