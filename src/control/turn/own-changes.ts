import type { Touched } from '../../store/world/refresh-world.ts'

interface Write {
  nodeIds: readonly string[]
  modelNames: readonly string[]
  /** Undefined while it is under way. */
  ended: number | undefined
}

/** Turns take in what was written every few seconds; when none succeeds for long, the next one reads everything. */
const MOST_REMEMBERED = 1000

/**
 * What this frontend writes while it leads, besides its turns: heartbeats, answers to commands, facts of models. Most of it
 * makes no event, so a turn that goes by events would miss it. An entry stands from before the write until a turn that
 * began after the write has been committed: whatever a turn may see in the store is noted while it reads.
 */
export class OwnWrites {
  readonly #writes = new Set<Write>()
  #now = 0
  #isLost = false

  /** Runs what writes to these, or to no more of the nodes than `changed` makes of what came of it. */
  async during<T>(
    { nodeIds = [], modelNames = [] }: Partial<Write>,
    work: () => Promise<T>,
    changed?: (result: T) => readonly string[],
  ): Promise<T> {
    const write: Write = { nodeIds, modelNames, ended: undefined }
    this.#writes.add(write)
    try {
      const result = await work()
      if (changed) write.nodeIds = changed(result)
      if (write.nodeIds.length + modelNames.length === 0) this.#writes.delete(write)
      return result
    } finally {
      // Also after a failure: the answer may be lost although the write succeeded.
      write.ended = this.#now
      if (this.#writes.size > MOST_REMEMBERED) this.#lose()
    }
  }

  /** To be called before a turn's transaction begins; what ends from here on may not be in what it sees. */
  mark(): number {
    this.#now += 1
    return this.#now
  }

  /** What may have been written; to be asked inside the transaction. Undefined when that is not known any more. */
  touched(): Touched | undefined {
    if (this.#isLost) return undefined
    const all = [...this.#writes]
    return {
      nodeIds: new Set(all.flatMap(({ nodeIds }) => nodeIds)),
      modelNames: new Set(all.flatMap(({ modelNames }) => modelNames)),
    }
  }

  /** The turn that began at this mark was committed. */
  forget(mark: number): void {
    this.#isLost = false
    for (const write of this.#writes) if (write.ended !== undefined && write.ended < mark) this.#writes.delete(write)
  }

  #lose(): void {
    this.#isLost = true
    for (const write of this.#writes) if (write.ended !== undefined) this.#writes.delete(write)
  }
}
