import type { DeviceBytes } from '../../core/types.ts'
import { sleep, type Clock } from '../../platform/run/clock.ts'
import type { Hardware } from '../hardware/hardware.ts'
import type { Holding, ProcessVram } from '../hardware/process-vram.ts'
import type { MeasuredMemory } from './peak-memory.ts'
import { membersOfEach } from '../processes/engine-members.ts'
import { residentMemory } from '../processes/group-memory.ts'

/** A replica as the meter sees it. */
export interface MeteredReplica {
  readonly state: string
  /** The engine's first process; undefined while there is none. */
  readonly pid: number | undefined
  /** Whether it may use a GPU. */
  readonly mayUseDevices: boolean
  /** Records what it was seen to hold. Returns whether that is worth a heartbeat. */
  noteMemory(look: MeasuredMemory): boolean
}

export interface MemoryMeterDeps {
  replicas: () => readonly MeteredReplica[]
  vram: ProcessVram
  clock: Clock
}

/** How long the tool that reports memory by process may take; it is not started again until it has answered. */
const PATIENCE_MS = 2000

/** Measures what the engines hold: all of them in one pass over the processes and one call of a tool. */
export class MemoryMeter {
  readonly #deps: MemoryMeterDeps
  #seen = new Set<number>()
  /** Replicas that were ready at the last look. */
  #seenReady = new WeakSet<MeteredReplica>()
  #asking: Promise<Holding[] | null> | undefined

  constructor(deps: MemoryMeterDeps) {
    this.#deps = deps
  }

  /** Whether a look would find something new: since the last one an engine has become ready or has ended. */
  isStale(): boolean {
    const replicas = this.#deps.replicas()
    const living = new Set(replicas.map(({ pid }) => pid))
    return (
      replicas.some((replica) => replica.state === 'ready' && !this.#seenReady.has(replica)) ||
      [...this.#seen].some((pid) => !living.has(pid))
    )
  }

  /**
   * Looks now. The returned function gives the figures to the replicas and says whether they are worth a heartbeat.
   * Call it only after the machine has been measured: if control knew a replica's memory before it is missing from the
   * machine's free memory, it could place another replica into it. Never rejects.
   */
  async look(machine: Pick<Hardware, 'gpu_vendor' | 'devices'>): Promise<() => boolean> {
    const running = this.#deps.replicas().flatMap((replica) => {
      const { pid } = replica
      // The state before the look: a replica that becomes ready during it may have been seen while it loaded.
      return pid === undefined ? [] : [{ replica, pid, loaded: replica.state === 'ready' }]
    })
    const now = new Set(running.map(({ pid }) => pid))
    const hasEnded = [...this.#seen].some((pid) => !now.has(pid))
    this.#seen = now
    for (const { replica } of running) if (replica.state === 'ready') this.#seenReady.add(replica)
    const members = running.length === 0 ? undefined : await membersOfEach(now).catch(() => undefined)
    if (!members) return () => hasEnded
    const holdings = await this.#holdings(machine, [...members.values()].flat())
    const looks = running.flatMap(({ replica, pid, loaded }) => {
      const pids = members.get(pid) ?? []
      if (pids.length === 0) return []
      const devices = replica.mayUseDevices ? devicesOf(new Set(pids), holdings, machine) : []
      return [{ replica, pid, look: { loaded, ram: residentMemory(pids), devices } }]
    })
    return () => {
      // The pid may belong to another process by now.
      const still = looks.filter(({ replica, pid }) => replica.pid === pid)
      const news = still.map(({ replica, look }) => replica.noteMemory(look))
      return hasEnded || news.includes(true)
    }
  }

  async #holdings(machine: Pick<Hardware, 'gpu_vendor' | 'devices'>, pids: number[]): Promise<Holding[] | null> {
    const { vram, clock } = this.#deps
    if (this.#asking) return null
    const asked = vram.read(machine, pids).catch(() => null)
    this.#asking = asked
    void asked.finally(() => (this.#asking = undefined))
    const enough = new AbortController()
    const late = sleep(clock, PATIENCE_MS, enough.signal).then(() => null)
    const holdings = await Promise.race([asked, late])
    enough.abort()
    return holdings
  }
}

/** Null when unknown: an engine that is not seen on any GPU may be invisible to the tool, as in containers. */
function devicesOf(
  pids: ReadonlySet<number>,
  holdings: readonly Holding[] | null,
  machine: Pick<Hardware, 'gpu_vendor'>,
): DeviceBytes[] | null {
  if (machine.gpu_vendor === null) return []
  const own = holdings?.filter(({ pid }) => pids.has(pid)) ?? []
  if (own.length === 0) return null
  const byIndex = new Map<number, number>()
  for (const { index, bytes } of own) {
    if (bytes === null) return null
    byIndex.set(index, (byIndex.get(index) ?? 0) + bytes)
  }
  return [...byIndex].map(([index, bytes]) => ({ index, bytes })).toSorted((a, b) => a.index - b.index)
}
