import { readFileSync, rmSync } from 'node:fs'
import { writeWhole } from '../../platform/write-whole.ts'

/**
 * The data key that the cluster gave this node, kept over restarts: a worker that comes back while no frontend answers
 * serves the gateways that know the key, at once.
 */
export class KeptKey {
  readonly #file: string
  #key: string | undefined

  constructor(file: string) {
    this.#file = file
    this.#key = read(file)
  }

  get key(): string | undefined {
    return this.#key
  }

  keep(key: string): void {
    if (key === this.#key) return
    this.#key = key
    try {
      writeWhole(this.#file, `${key}\n`)
    } catch {
      // On a full disk it works without the file, and asks the cluster again after a restart.
    }
  }

  /** The node is no longer part of the cluster. */
  forget(): void {
    this.#key = undefined
    rmSync(this.#file, { force: true })
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim() || undefined
  } catch {
    return undefined
  }
}
