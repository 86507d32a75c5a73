import type { ReplicaStartMessage } from '../../src/api/bus/messages.ts'
import type { Hardware as ReportedHardware } from '../../src/api/hardware.ts'
import { AppError } from '../../src/platform/errors.ts'
import { newSeed, publicKeyOf } from '../../src/bus/nkey.ts'
import type { BootDisk } from '../../src/worker/membership/boot.ts'
import type { EventQueue } from '../event-queue.ts'
import type { Hardware } from '../hardware.ts'
import { MachineMemory } from '../machine-memory.ts'
import { engineKinds, takenBy, type EngineName } from '../model-kinds.ts'
import type { Random } from '../random.ts'
import type { WorkerProcess } from '../roles/worker-process.ts'
import { SimEngine, type EngineChances } from './engine.ts'
import { MemoryJournal } from './memory-journal.ts'

export interface MachineDeps {
  queue: EventQueue
  random: Random
  /** For how long each reading of its memory takes. */
  readings: Random
  chances: EngineChances
  hardware: Hardware
  slots: number
  labels: Record<string, string>
  /** This one is a clone of that machine, made with its data folder: it has the same key. */
  copyOf?: Machine | undefined
  onOutOfMemory: (machine: Machine, engine: SimEngine) => void
  onStart: () => void
}

/** Of each reading of a device to fail. */
const UNREADABLE = 0.02
/** The most that a reading of the memory takes: a look at files, a tool, a tool that sets up the driver each time. */
const READING_MS = [0, 0, 800, 5000]
/** Of which heartbeats one still knows when their reading began. */
const READINGS_KEPT = 100
const ENDS_KEPT = 1000

/** What a file of the disk takes is not looked at; only whether there is room. */
const FULL_DISK_BYTES = 1024

/**
 * A machine of the cluster: keeps its identity and its disk over any number of boots, and its engines over any number of
 * workers. It has no worker while it is down, or while its worker alone is.
 */
export class Machine {
  readonly name: string
  /** The name of its node: that of the machine it is a copy of. */
  readonly nodeName: string
  readonly address: string
  readonly publicKey: string
  readonly index: number
  readonly slots: number
  readonly labels: Record<string, string>
  readonly hardware: Hardware
  readonly memory: MachineMemory
  readonly journal: MemoryJournal
  readonly engines = new Map<number, SimEngine>()
  /** Models whose engine cannot start here for now, and whose files are here. */
  readonly brokenModels = new Set<string>()
  readonly staged = new Set<string>()
  worker: WorkerProcess | undefined
  /** Its id in the cluster, once it has registered. */
  nodeId: string | undefined
  isUp = false
  hasProgram = true
  isDiskFull = false
  boots = 0
  /** When the reading in each of the last heartbeats began, by `<boot> <number>`, and when each engine ended, by its replica. */
  readonly readings = new Map<string, number>()
  readonly endedMs = new Map<string, number>()
  readonly #mostReadingMs: number
  readonly #deps: MachineDeps
  readonly #files = new Map<string, string>()
  #pids = 100

  constructor(index: number, deps: MachineDeps) {
    const { copyOf } = deps
    this.nodeName = `n${index + 1}`
    this.name = copyOf ? copyName(this.nodeName) : this.nodeName
    this.address = `10.${copyOf ? 1 : 0}.${Math.floor(index / 200)}.${(index % 200) + 1}:9000`
    this.index = index
    this.publicKey = keys[index]!
    this.slots = deps.slots
    this.labels = deps.labels
    this.hardware = deps.hardware
    this.memory = new MachineMemory(deps.hardware)
    this.journal = new MemoryJournal(() => this.#checkDisk())
    this.#mostReadingMs = deps.readings.oneOf(READING_MS)!
    this.#deps = deps
  }

  get bootName(): string {
    return `${this.name}-boot${this.boots}`
  }

  readonly disk: BootDisk = {
    read: (file) => {
      const text = this.#files.get(file)
      if (text === undefined) throw new Error('ENOENT')
      return text
    },
    write: (file, text) => {
      this.#checkDisk()
      this.#files.set(file, text)
    },
    remove: (file) => void this.#files.delete(file),
  }

  boot(): void {
    if (this.isUp) return
    this.isUp = true
    this.boots += 1
  }

  /** kill -9 of everything: processes gone, silence. */
  die(): void {
    if (!this.isUp) return
    this.isUp = false
    this.worker?.kill()
    this.worker = undefined
    for (const engine of this.engines.values()) engine.vanish()
  }

  isPortFree(port: number): boolean {
    for (const engine of this.engines.values()) if (engine.port === port) return false
    return true
  }

  startEngine(port: number, spec: ReplicaStartMessage): SimEngine {
    const { queue, random, chances, onOutOfMemory, onStart } = this.#deps
    const { hardware } = this
    const engine = new SimEngine((this.#pids += 1), port, spec, {
      queue,
      random,
      chances,
      memory: this.memory,
      takes: takenBy(spec, hardware, chances),
      grows: engineKinds[spec.engine as EngineName].memory === 'on_demand',
      isBroken: (modelName) => !this.hasProgram || this.brokenModels.has(modelName),
      onOutOfMemory: (starved) => onOutOfMemory(this, starved),
      onEnd: (ended) => {
        this.engines.delete(ended.pid)
        this.endedMs.set(spec.id, queue.nowMs)
        if (this.endedMs.size > ENDS_KEPT) this.endedMs.delete(this.endedMs.keys().next().value!)
      },
    })
    this.engines.set(engine.pid, engine)
    onStart()
    return engine
  }

  /** How long the reading that begins now takes. */
  readingMs(): number {
    return this.#mostReadingMs === 0 ? 0 : this.#deps.readings.between(1, this.#mostReadingMs)
  }

  /** The heartbeat of this number tells what was read from then on. */
  noteReading(heartbeat: string, begunMs: number): void {
    this.readings.set(heartbeat, begunMs)
    if (this.readings.size > READINGS_KEPT) this.readings.delete(this.readings.keys().next().value!)
  }

  report(): ReportedHardware {
    const { random } = this.#deps
    const { devices, totalRam, totalDisk } = this.hardware
    return {
      gpu_vendor: devices.length > 0 ? 'nvidia' : null,
      devices: devices.map(({ index, name, totalVram, unified }) => ({
        index,
        uuid: `${this.name}-${index}`,
        name,
        total_vram: totalVram,
        available_vram: random.chance(UNREADABLE) ? null : Math.max(0, this.memory.freeVram(index)),
        unified,
      })),
      total_ram: totalRam,
      available_ram: Math.max(0, this.memory.freeRam()),
      total_disk: totalDisk,
      available_disk: this.isDiskFull ? FULL_DISK_BYTES : totalDisk,
    }
  }

  #checkDisk(): void {
    if (this.isDiskFull) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
  }

  diskFull(): AppError {
    return new AppError('unavailable', 'The disk is full: no space left on device.')
  }
}

/** Of the machine and the process of a copy. */
export function copyName(nodeName: string): string {
  return `${nodeName}-copy`
}

const keys: string[] = []

/**
 * Keys are slow to make and their bytes mean nothing here, so all runs of a process use the same. To be called before the
 * run owns chance, of which the making of keys would use some, the first time only.
 */
export function makeKeys(count: number): void {
  while (keys.length < count) keys.push(publicKeyOf(newSeed()))
}
