import type { Hardware } from '../../api/hardware.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { Logger } from '../../platform/run/log.ts'
import { FakeDevices, type Pretender } from '../hardware/fake-devices.ts'
import { createProcessVram } from '../hardware/process-vram.ts'
import { startMeasurements, type Measurements } from './measurements.ts'
import { MemoryMeter, type MeteredReplica } from './memory-meter.ts'
import { UnreadEnds, type EndingReplica } from './unread-ends.ts'

export interface MachineWatchDeps {
  measure: () => Promise<Hardware>
  /** The current replicas. */
  replicas: () => (EndingReplica & MeteredReplica & Pretender)[]
  /** There is something to tell. */
  onNews: () => void
  clock: Clock
  log: Logger
}

/** What the machine has, and what the engines take of it. */
export class MachineWatch {
  readonly fakeDevices: FakeDevices | undefined
  readonly #deps: MachineWatchDeps
  readonly #meter: MemoryMeter
  readonly #ends: UnreadEnds
  #measurements: Measurements | undefined

  constructor(deps: MachineWatchDeps) {
    const { replicas, clock, log } = deps
    this.#deps = deps
    this.fakeDevices = openFakeDevices(log)
    const vram = this.fakeDevices?.vramOf(replicas) ?? createProcessVram({ clock })
    this.#meter = new MemoryMeter({ replicas, vram, clock })
    this.#ends = new UnreadEnds({ replicas, clock })
  }

  /** Measures for the first time. */
  async start(): Promise<void> {
    const { clock, log, onNews } = this.#deps
    this.#measurements = await startMeasurements(() => this.#measure(), clock, log, {
      look: (machine) => this.#meter.look(machine),
      onNews,
      onRead: (begunMs) => this.#ends.read(begunMs),
      isOpen: () => this.#ends.isOpen(),
    })
  }

  /** The last measurement that worked; undefined before the first. */
  last(): Hardware | undefined {
    return this.#measurements?.last()
  }

  every(periodMs: number): void {
    this.#measurements?.every(periodMs)
  }

  /** Replicas have changed: measures soon if that changes what is measured. */
  replicasChanged(): void {
    if (this.#ends.isOpen() || this.#meter.isStale()) this.#measurements?.wake()
  }

  /** Ids of replicas that have ended and may be in the last reading as if they had not. */
  unread(): string[] {
    return this.#ends.unread()
  }

  async dispose(): Promise<void> {
    await this.#measurements?.dispose()
  }

  async #measure(): Promise<Hardware & { begunMs?: number }> {
    const machine = await this.#deps.measure()
    return this.fakeDevices?.onto(machine, this.#deps.replicas()) ?? machine
  }
}

function openFakeDevices(log: Logger): FakeDevices | undefined {
  const devices = FakeDevices.from(process.env)
  if (devices) {
    const text = 'FLOTILLA_FAKE_DEVICES is set: this node tells of GPUs that it does not have. It is for tests only'
    log.warn({ devices: devices.count }, text)
  }
  return devices
}
