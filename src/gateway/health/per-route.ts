import type { LiveRoute, LiveTable } from '../table/routing-table.ts'

interface Noted<T> {
  generation: number
  address: string
  note: T
}

/** Up to this many notes, none are checked for replicas that have left the table. */
const FEW = 1024

/**
 * A gateway's own notes about replicas. A note holds for one generation at one address: when the table names others, it is
 * void. Notes of replicas that have left the table are removed when there are many.
 */
export class RouteNotes<T> {
  readonly #table: Pick<LiveTable, 'route'>
  readonly #notes = new Map<string, Noted<T>>()
  #most = FEW

  constructor(table: Pick<LiveTable, 'route'>) {
    this.#table = table
  }

  get isEmpty(): boolean {
    return this.#notes.size === 0
  }

  get({ replicaId, generation, address }: LiveRoute): T | undefined {
    const noted = this.#notes.get(replicaId)
    return noted?.generation === generation && noted.address === address ? noted.note : undefined
  }

  set({ replicaId, generation, address }: LiveRoute, note: T): void {
    this.#notes.set(replicaId, { generation, address, note })
    if (this.#notes.size > this.#most) this.#tidy()
  }

  delete({ replicaId }: LiveRoute): void {
    this.#notes.delete(replicaId)
  }

  #tidy(): void {
    for (const replicaId of this.#notes.keys()) if (!this.#table.route(replicaId)) this.#notes.delete(replicaId)
    this.#most = Math.max(FEW, 2 * this.#notes.size)
  }
}
