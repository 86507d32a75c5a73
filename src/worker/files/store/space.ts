import { AppError, messageOf } from '../../../platform/errors.ts'
import { fileProblem } from '../../../platform/file-problem.ts'
import type { Clock } from '../../../platform/run/clock.ts'
import type { Logger } from '../../../platform/run/log.ts'
import type { Lock } from './lock.ts'
import { TooLarge } from './too-large.ts'

export interface SpaceDeps {
  folder: string
  quotaBytes: number | undefined
  freeBytes: () => Promise<{ free: number; total: number }>
  /** The space that our files take now. */
  usedBytes: () => Promise<number>
  /** Deletes the unused file that was last used longest ago; false when there is none. */
  collectOldest: () => Promise<boolean>
  lock: Lock
  clock: Pick<Clock, 'nowMs'>
  log: Logger
}

const GIB = 2 ** 30

/** Free space to leave on the disk: for logs, for the system, for the unforeseen. */
function reserveFor(bytes: number): number {
  return Math.max(0.05 * bytes, GIB)
}

/** Bytes still to come, promised to one transfer. */
export class Reservation {
  readonly #left = new Map<string, number>()
  leftBytes = 0

  /** How many bytes of one file are still to come. */
  set(path: string, leftBytes: number): void {
    this.leftBytes += leftBytes - (this.#left.get(path) ?? 0)
    this.#left.set(path, leftBytes)
  }
}

/** Room for files, within the quota and on the disk. Bytes that transfers have still to write count as taken. */
export class Space {
  readonly #deps: SpaceDeps
  readonly #reservations = new Set<Reservation>()
  readonly #tooLarge: TooLarge

  constructor(deps: SpaceDeps) {
    this.#deps = deps
    this.#tooLarge = new TooLarge(deps.clock)
  }

  /** Runs the work with room reserved for files of these sizes; refuses when there is not enough. */
  async withRoom<T>(
    label: string,
    leftByPath: ReadonlyMap<string, number>,
    work: (reservation: Reservation) => Promise<T>,
  ): Promise<T> {
    const reservation = new Reservation()
    for (const [path, left] of leftByPath) reservation.set(path, left)
    try {
      await this.#deps.lock.run(async () => {
        if (reservation.leftBytes > 0) await this.#fit(label, reservation.leftBytes, 1)
        this.#reservations.add(reservation)
      })
      return await work(reservation)
    } finally {
      this.#reservations.delete(reservation)
    }
  }

  /** Fetches a file of unknown length; refuses one that filled the disk a moment ago. */
  async withoutLength<T>(label: string, fetch: () => Promise<T>): Promise<T> {
    const free = (await this.#free()) ?? 0
    this.#tooLarge.refuse(label, free)
    try {
      return await fetch()
    } catch (error) {
      if (error instanceof NoRoomError) this.#tooLarge.note(label, free, error.message)
      throw error
    }
  }

  /**
   * Called during a transfer, because other programs write to the disk as well. Fails once half of the reserve is gone.
   */
  check(label: string): Promise<void> {
    return this.#deps.lock.run(() => this.#fit(label, 0, 0.5))
  }

  /** Explains a failed write. */
  async explain(label: string, error: unknown): Promise<AppError> {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOSPC' && code !== 'EDQUOT') {
      return new AppError('unavailable', `Cannot write ${label} to ${this.#deps.folder}: ${fileProblem(error)}.`, {
        cause: error,
      })
    }
    const left = this.#reservedBytes()
    return full(label, this.#deps.folder, left + reserveFor(left), (await this.#free()) ?? 0)
  }

  async #fit(label: string, moreBytes: number, shareOfReserve: number): Promise<void> {
    const { quotaBytes, collectOldest } = this.#deps
    for (;;) {
      const shortage = await this.#shortage(label, this.#reservedBytes() + moreBytes, shareOfReserve)
      if (!shortage) return
      // Without a quota we have no permission to delete files.
      if (quotaBytes === undefined || !(await collectOldest())) throw shortage
    }
  }

  async #shortage(label: string, leftBytes: number, shareOfReserve: number): Promise<AppError | undefined> {
    const { folder, quotaBytes, usedBytes } = this.#deps
    if (quotaBytes !== undefined) {
      const used = await usedBytes()
      if (used + leftBytes > quotaBytes) return aboveQuota(label, leftBytes, used, quotaBytes)
    }
    const free = await this.#free()
    const needed = leftBytes + shareOfReserve * reserveFor(leftBytes)
    return free === undefined || free >= needed ? undefined : full(label, folder, needed, free)
  }

  #reservedBytes(): number {
    return [...this.#reservations].reduce((sum, { leftBytes }) => sum + leftBytes, 0)
  }

  /** Undefined when the system does not say: then a write fails if there is no room. */
  async #free(): Promise<number | undefined> {
    try {
      return (await this.#deps.freeBytes()).free
    } catch (error) {
      this.#deps.log.warn({ reason: messageOf(error) }, 'model files: the free disk space is not known')
      return undefined
    }
  }
}

/** The disk is too small for the file. */
class NoRoomError extends AppError {}

function full(label: string, folder: string, needed: number, free: number): AppError {
  const hint = 'Delete files of models that are not needed on this node, or move its data folder to a larger disk.'
  const numbers = `${size(needed)} must be free in ${folder} (what is still to come, and a reserve), and ${size(free)} are`
  return new NoRoomError('unavailable', `Not enough disk space for ${label}: ${numbers}. ${hint}`)
}

function aboveQuota(label: string, left: number, used: number, quota: number): AppError {
  const hint = 'Raise it with --models-quota, or stop models that run here.'
  const numbers = `${size(left)} are still to come, ${size(used)} are in use and the quota is ${size(quota)}`
  return new AppError('unavailable', `Not enough room for ${label}: ${numbers}. ${hint}`)
}

function size(bytes: number): string {
  return bytes < GIB ? `${(bytes / 2 ** 20).toFixed(1)} MiB` : `${(bytes / GIB).toFixed(1)} GiB`
}
