import { createServer } from 'node:net'
import type { Clock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'

export interface PortRange {
  from: number
  to: number
}

/** The ports that engines get. A key is that of a replica, `<model>#<index>`. */
export interface EnginePorts {
  take(key: string): Promise<number>
  /** Marks a port as in use: its engine was started by an earlier run of this worker. */
  hold(port: number, key: string): void
  /** Call it only once the engine's process is known to be gone. Ignores a port that is not held. */
  release(port: number): void
}

export interface PortsOptions {
  range: PortRange
  clock: Clock
  log: Logger
  /** Where in the range to begin: two workers on one machine would otherwise try the same ports at the same time. */
  random: () => number
  isFree?: (port: number) => Promise<boolean>
}

/** Late connections to the port's last engine have given up by then. */
const QUARANTINE_MS = 15_000
/** How long a port is kept for its last replica, so that a cached address finds the same replica there. */
const KEPT_MS = 5 * 60_000

/**
 * Hands out engine ports from a range, each to one replica at a time, checked with the operating system.
 *
 *   free ──▶ held ──▶ released: 15 s for its last replica only, then up to 5 min for others when nothing else is left ──▶ free
 *
 * The last replica may have a port back at once, even within the 15 s: they keep late connections from reaching another
 * model, and this is the same one. A replica that crashes again and again thus uses only one port.
 */
export class Ports implements EnginePorts {
  readonly #range: PortRange
  readonly #clock: Clock
  readonly #log: Logger
  readonly #isFree: (port: number) => Promise<boolean>
  readonly #held = new Map<number, string>()
  readonly #checking = new Set<number>()
  /** In the order of release. At most one entry for each port of the range, so it is bounded. */
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
    /** Never tries a port twice, so this ends after at most as many checks as there are ports. */
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
      throw new AppError('conflict', `Engine port ${port} cannot be used for ${key}: ${holder} has it.`)
    }
    this.#held.set(port, key)
    this.#released.delete(port)
  }

  release(port: number): void {
    const key = this.#held.get(port)
    if (key === undefined) return
    this.#held.delete(port)
    // An adopted engine may have a port of an earlier range, which is never handed out.
    if (!this.#isInRange(port)) return
    this.#released.delete(port)
    this.#released.set(port, { key, atMs: this.#clock.nowMs() })
  }

  async #tryToTake(port: number, key: string, tried: Set<number>): Promise<boolean> {
    tried.add(port)
    this.#checking.add(port)
    try {
      // An adopted engine may have taken it during the await.
      if (!(await this.#isFree(port)) || this.#held.has(port)) return false
      this.#held.set(port, key)
      this.#released.delete(port)
      return true
    } finally {
      this.#checking.delete(port)
    }
  }

  /** The key's last port, if there is one. */
  #ownOf(key: string, tried: ReadonlySet<number>): number | undefined {
    return [...this.#released].findLast(([port, last]) => last.key === key && this.#mayTry(port, tried))?.[0]
  }

  /** Round robin rather than lowest first, so that a port rests as long as possible between two replicas. */
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

  /** The rest of a port's quarantine. */
  #restMs(port: number): number {
    const last = this.#released.get(port)
    return last ? Math.max(0, QUARANTINE_MS - this.#ageMs(last)) : 0
  }

  #ageMs(last: { atMs: number }): number {
    const nowMs = this.#clock.nowMs()
    // If the clock was set back, the port must not stay reserved for that much longer.
    last.atMs = Math.min(last.atMs, nowMs)
    return nowMs - last.atMs
  }

  #forgetOld(): void {
    for (const [port, last] of this.#released) if (this.#ageMs(last) >= KEPT_MS) this.#released.delete(port)
  }

  #usedUp(tried: ReadonlySet<number>): AppError {
    const { from, to } = this.#range
    // Includes ports that other callers are checking right now.
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
 * Whether an engine could listen there. On some systems a program may listen on 127.0.0.1 although another one has the
 * port on all addresses, and it is undefined which of the two then gets a connection: so those addresses are checked,
 * too.
 */
async function isPortFree(port: number): Promise<boolean> {
  for (const host of ['127.0.0.1', '0.0.0.0', '::']) {
    const problem = await tryToListen(host, port)
    if (problem === 'EADDRINUSE' || problem === 'EACCES') return false
    // Too many open files, say, does not mean that the port is taken. A machine without IPv6 is fine.
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
