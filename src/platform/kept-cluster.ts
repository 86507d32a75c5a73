import { readFileSync, rmSync } from 'node:fs'
import { writeWhole } from './write-whole.ts'

/**
 * On every call of a worker to a frontend: the id of the cluster that the worker belongs to, once it belongs to one. A
 * frontend of another cluster refuses the call; one of the release before does not look at it.
 */
export const CLUSTER_HEADER = 'x-flotilla-cluster'

/** The file in a data folder. */
export const CLUSTER_FILE = 'cluster.id'

/**
 * The id of the cluster that a data folder belongs to. The first cluster that answers gives it; from then on only an
 * explicit act (`--new-cluster`, or removing the file) makes it another. The id is no secret.
 */
export class KeptCluster {
  readonly #file: string | undefined
  #id: string | undefined

  /** Without a file it is kept in memory only. */
  constructor(file?: string) {
    this.#file = file
    this.#id = file === undefined ? undefined : read(file)
  }

  get id(): string | undefined {
    return this.#id
  }

  /** True when this id is known to be the id of another cluster. */
  isOther(id: string | undefined): boolean {
    return id !== undefined && this.#id !== undefined && id !== this.#id
  }

  /** Takes the id over unless one is known. */
  learn(id: string | undefined): void {
    if (id === undefined || this.#id !== undefined) return
    this.#id = id
    if (this.#file === undefined) return
    try {
      writeWhole(this.#file, `${id}\n`)
    } catch {
      // A full disk: it is known for as long as this process runs, and learned again by the next.
    }
  }

  /** This data folder belongs to no cluster any more. */
  forget(): void {
    this.#id = undefined
    if (this.#file !== undefined) rmSync(this.#file, { force: true })
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim() || undefined
  } catch {
    return undefined
  }
}
