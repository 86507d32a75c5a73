import { createServer } from 'node:net'
import type { Clock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'

export interface PortRange {
  from: number
  to: number
}

/** What whoever starts engines needs of their ports. A key is that of a replica, `<model>#<index>`. */
export interface EnginePorts {
  take(key: string): Promise<number>
  /** Says that a port is in use already: the engine on it was started by an earlier run of this worker. */
  hold(port: number, key: string): void
  /** Only once the engine's process is known to be gone. A port that nobody has is left as it is. */
  release(port: number): void
}

export interface PortsOptions {
  range: PortRange
  clock: Clock
  log: Logger
  /** Where in the range to begin: two workers on one machine would otherwise try for the same ports at the same time. */
  random: () => number
  isFree?: (port: number) => Promise<boolean>
}

/** Late connections to the engine that had a port have given up by then. */
const QUARANTINE_MS = 15_000
/** How long a port waits for the replica that had it, so that what remembers an address finds the same replica there. */
const KEPT_MS = 5 * 60_000

/**
 * Hands out engine ports from a range, each to one replica at a time, checked with the operating system.
 *
 *   free ──▶ held ──▶ released: 15 s for its last replica only, then up to 5 min for others when nothing else is left ──▶ free
 *
 * Its last replica may have a port back at once, also within the 15 s: they are there to keep late connections from
 * reaching another model, and this is the same one. A replica that crashes again and again thus uses up one port.
 */
export class Ports implements EnginePorts {
  readonly #range: PortRange
  readonly #clock: Clock
  readonly #log: Logger
  readonly #isFree: (port: number) => Promise<boolean>
  readonly #held = new Map<number, string>()
  readonly #checking = new Set<number>()
  /** In the order of release. One entry a port of the range at most, so it cannot outgrow that. */
  readonly #released = new Map<number, { key: string; atMs: number }>()
  #next: number

  constructor({ range, clock, log, random, isFree = isPortFree }: PortsOptions) {
    this.#range = range
    this.#clock = clock
    this.#log = log
    this.#isFree = isFree
    this.#next = range.from + Math.floor(random() * this.#size())
  }

  async take(key: string): Promise<number> {
    this.#forgetOld()
    /** Never one twice, so this ends after as many checks as there are ports. */
    const tried = new Set<number>()
    for (let port = this.#ownOf(key, tried); port !== undefined; port = this.#ownOf(key, tried)) {
      if (await this.#tryToTake(port, key, tried)) return port
    }
    for (let port = this.#nextFree(tried); port !== undefined; port = this.#nextFree(tried)) {
      if (await this.#tryToTake(port, key, tried)) return port
    }
    for (let port = this.#oldestKept(tried); port !== undefined; port = this.#oldestKept(tried)) {
      const keptFor = this.#released.get(port)?.key
      if (!(await this.#tryToTake(port, key, tried))) continue
      const text =
        'worker: engine ports run short, so one that was kept for another replica is used. Widen --engine-ports'
      this.#log.warn({ port, replica: key, keptFor }, text)
      return port
    }
    throw this.#usedUp(tried)
  }

  hold(port: number, key: string): void {
    const holder = this.#held.get(port)
    if (holder !== undefined && holder !== key) {
      throw new AppError('conflict', `Engine port ${port} cannot be that of ${key}: ${holder} has it.`)
    }
    this.#held.set(port, key)
    this.#released.delete(port)
  }

  release(port: number): void {
    const key = this.#held.get(port)
    if (key === undefined) return
    this.#held.delete(port)
    // A re-adopted engine may have a port of an earlier range, which is never handed out.
    if (!this.#isInRange(port)) return
    this.#released.delete(port)
    this.#released.set(port, { key, atMs: this.#clock.nowMs() })
  }

  async #tryToTake(port: number, key: string, tried: Set<number>): Promise<boolean> {
    tried.add(port)
    this.#checking.add(port)
    try {
      // It may have become a re-adopted engine's in the meantime.
      if (!(await this.#isFree(port)) || this.#held.has(port)) return false
      this.#held.set(port, key)
      this.#released.delete(port)
      return true
    } finally {
      this.#checking.delete(port)
    }
  }

  /** The port that the key had last, if there is one. */
  #ownOf(key: string, tried: ReadonlySet<number>): number | undefined {
    return [...this.#released].findLast(([port, last]) => last.key === key && this.#mayTry(port, tried))?.[0]
  }

  /** Round and round rather than lowest first, so that ports rest between two replicas for as long as can be. */
  #nextFree(tried: ReadonlySet<number>): number | undefined {
    for (let i = 0; i < this.#size(); i += 1) {
      const port = this.#next
      this.#next = port === this.#range.to ? this.#range.from : port + 1
      if (!this.#released.has(port) && this.#mayTry(port, tried)) return port
    }
    return undefined
  }

  #oldestKept(tried: ReadonlySet<number>): number | undefined {
    for (const port of this.#released.keys()) {
      if (this.#mayTry(port, tried) && this.#restMs(port) === 0) return port
    }
    return undefined
  }

  #mayTry(port: number, tried: ReadonlySet<number>): boolean {
    return !tried.has(port) && !this.#held.has(port) && !this.#checking.has(port)
  }

  /** What is left of a port's quarantine. */
  #restMs(port: number): number {
    const last = this.#released.get(port)
    return last ? Math.max(0, QUARANTINE_MS - this.#ageMs(last)) : 0
  }

  #ageMs(last: { atMs: number }): number {
    const nowMs = this.#clock.nowMs()
    // A clock that was set back would keep ports for as long as it was set back.
    last.atMs = Math.min(last.atMs, nowMs)
    return nowMs - last.atMs
  }

  #forgetOld(): void {
    for (const [port, last] of this.#released) if (this.#ageMs(last) >= KEPT_MS) this.#released.delete(port)
  }

  #usedUp(tried: ReadonlySet<number>): AppError {
    const { from, to } = this.#range
    // What others are checking right now will be theirs.
    const held = [...this.#held.keys()].filter((port) => this.#isInRange(port))
    const inUse = new Set([...held, ...this.#checking])
    const resting = [...this.#released.keys()].filter((port) => this.#restMs(port) > 0 && !tried.has(port))
    const others = [...tried].filter((port) => !inUse.has(port))
    const counts = [
      `${inUse.size} of ${this.#size()} used by replicas`,
      `${resting.length} released less than ${QUARANTINE_MS / 1000} s ago`,
      `${others.length} used by other programs`,
    ]
    const text = `No free engine port in ${from}-${to}: ${counts.join(', ')}. Widen the range with --engine-ports`
    if (resting.length === 0) return new AppError('unavailable', `${text}.`)
    const retryAfterS = Math.ceil(Math.min(...resting.map((port) => this.#restMs(port))) / 1000)
    return new AppError('unavailable', `${text}, or try again in ${retryAfterS} s.`, { retryAfterS })
  }

  #isInRange(port: number): boolean {
    return port >= this.#range.from && port <= this.#range.to
  }

  #size(): number {
    return this.#range.to - this.#range.from + 1
  }
}

/**
 * Whether an engine could listen there. On some systems one may listen on 127.0.0.1 although another program has the
 * port on all addresses, and which of the two then gets a connection is anybody's guess: so those are asked for too.
 */
async function isPortFree(port: number): Promise<boolean> {
  for (const host of ['127.0.0.1', '0.0.0.0', '::']) {
    const problem = await tryToListen(host, port)
    if (problem === 'EADDRINUSE' || problem === 'EACCES') return false
    // Too many open files, say, is no fault of the port. There may be no IPv6 on this machine, which is fine.
    if (problem !== undefined && host === '127.0.0.1') {
      throw new AppError('unavailable', `Cannot check whether engine port ${port} is free: ${problem}.`)
    }
  }
  return true
}

function tryToListen(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer((socket) => socket.destroy())
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(undefined)))
  })
}
