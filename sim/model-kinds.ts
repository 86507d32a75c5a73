import type { ReplicaStartMessage, ReportedEngineMessage } from '../src/api/bus/messages.ts'
import type { ExplicitMemory, Model } from '../src/core/types.ts'
import { GIB, type Hardware } from './hardware.ts'
import type { Taken } from './machine-memory.ts'
import type { Random } from './random.ts'

/** What an engine says of itself. They differ in when and how they take their memory. */
type EngineKind = Pick<ReportedEngineMessage, 'memory' | 'uses'>

export const engineKinds = {
  /** What it takes depends on the model alone. */
  plain: { memory: 'on_load', uses: { device: 'either' } },
  /** Takes what it says, and the rest of it only when requests come. */
  growing: { memory: 'on_demand', uses: { device: 'either' } },
  /** Says how much it takes, whatever the file. */
  exact: { memory: 'on_load', uses: { device: 'either', bytes: GIB / 4, bytes_option: 'bytes' } },
  /** Takes its share of a device at once. */
  greedy: { memory: 'preallocated', uses: { device: 'gpu', share: { option: 'share', default: 0.6 } } },
} as const satisfies Record<string, EngineKind>
export type EngineName = keyof typeof engineKinds

const SIZES = [GIB, 4 * GIB, 7 * GIB, 12 * GIB, 20 * GIB, 20 * GIB]
const RAM = GIB / 2
/** Always there: to find out by trying takes longer than the quiet time. */
const LITTLE = GIB / 8

type Meaning = Pick<Model, 'engine' | 'options' | 'memory' | 'antiAffinity'>

/** A model with what somebody said of its memory. What it really takes is among its options, for its engine to read. */
export function drawMeaning(random: Random): Meaning {
  const size = random.oneOf(SIZES)!
  const antiAffinity = random.chance(0.1) ? 'apart' : null
  const said = (engine: EngineName, takes: number, memory: ExplicitMemory | null): Meaning => ({
    engine,
    options: { takes: Math.round(takes), ...(memory ? { says: memory.vram } : {}) },
    memory,
    antiAffinity,
  })
  const explicit = { vram: size, ram: RAM }
  switch (
    random.oneOf(['honest', 'honest', 'honest', 'lying', 'unknown', 'unknown', 'growing', 'exact', 'greedy'] as const)!
  ) {
    case 'honest':
      return said('plain', size * (0.7 + 0.3 * random.next()), explicit)
    case 'lying':
      return said('plain', size * (1.05 + 0.5 * random.next()), explicit)
    case 'unknown':
      return said('plain', size, null)
    case 'growing':
      return said('growing', size, explicit)
    case 'exact':
      return { engine: 'exact', options: { bytes: size }, memory: null, antiAffinity }
    case 'greedy':
      return { engine: 'greedy', options: {}, memory: null, antiAffinity }
  }
}

type EngineSpec = Pick<ReplicaStartMessage, 'engine' | 'options' | 'devices'>

/** What an engine of this model takes in the end, on the devices that it was given. An honest one: no more than was said, or little. */
export function takenBy(
  { engine, options, devices = [] }: EngineSpec,
  hardware: Hardware,
  { isHonest = false }: { isHonest?: boolean } = {},
): Taken {
  const { uses }: EngineKind = engineKinds[engine as EngineName]
  const takes = Number(options['takes'] ?? 0)
  const own = isHonest ? Math.min(takes, Number(options['says'] ?? LITTLE)) : takes
  const bytes = uses.bytes === undefined ? own : uses.bytes + Number(options['bytes'])
  const ram = uses.bytes === undefined ? RAM : 0
  if (devices.length === 0) return { devices: [], ram: bytes + ram }
  const totals = new Map(hardware.devices.map(({ index, totalVram }) => [index, totalVram]))
  const on = (index: number): number =>
    uses.share ? Math.floor(uses.share.default * totals.get(index)!) : Math.ceil(bytes / devices.length)
  return { devices: devices.map((index) => ({ index, bytes: on(index) })), ram }
}

/** As heartbeats tell of them: all can run, or none. */
export function engineReports(hasProgram: boolean): ReportedEngineMessage[] {
  return hasProgram ? runnable : missing
}

function reports(hasProgram: boolean): ReportedEngineMessage[] {
  const [state, reason] = hasProgram
    ? (['available', null] as const)
    : (['missing', 'sim-engine is not in PATH'] as const)
  return Object.entries(engineKinds).map(([name, kind]) => ({
    name,
    source: 'built-in',
    state,
    reason,
    version: null,
    serves: [],
    operation: null,
    ...kind,
  }))
}

const runnable = reports(true)
const missing = reports(false)
