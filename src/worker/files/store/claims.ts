/** Files that must not be deleted now. Kept in memory only: after a restart, callers stage their files again. */
export class Claims {
  readonly #claims = new Set<{ id: string; modelName: string | undefined }>()
  readonly #pinned = new Set<string>()
  readonly #open = new Set<string>()
  #transfers = 0

  /** Marks a source as in use or waited for. The returned function ends that, once. */
  add(id: string, modelName: string | undefined): () => boolean {
    const claim = { id, modelName }
    this.#claims.add(claim)
    return () => this.#claims.delete(claim)
  }

  hasSource(id: string): boolean {
    return [...this.#claims].some((claim) => claim.id === id)
  }

  hasModel(modelName: string): boolean {
    return [...this.#claims].some((claim) => claim.modelName === modelName)
  }

  /** Blobs of a source that is being fetched stay pinned until no transfer runs: simple, and soon enough. */
  async whileFetching<T>(work: () => Promise<T>): Promise<T> {
    this.#transfers += 1
    try {
      return await work()
    } finally {
      this.#transfers -= 1
      if (this.#transfers === 0) this.#pinned.clear()
    }
  }

  pin(sha256: string): void {
    this.#pinned.add(sha256)
  }

  isPinned(sha256: string): boolean {
    return this.#pinned.has(sha256)
  }

  /** Partial files that a transfer writes to. */
  openPart(id: string): void {
    this.#open.add(id)
  }

  closePart(id: string): void {
    this.#open.delete(id)
  }

  isPartOpen(id: string): boolean {
    return this.#open.has(id)
  }
}
