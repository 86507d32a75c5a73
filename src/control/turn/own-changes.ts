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
 * is no event, so that a turn which goes by events would not hear of it. Noted before it is written and until a turn that
 * began after its end has been committed: whatever a turn could see in the store is noted while it looks.
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
      // Also when it failed: that the answer was lost does not mean that nothing was written.
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
