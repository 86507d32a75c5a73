/** What must not be deleted now. Only in memory: whoever uses files after a restart stages them again. */
export class Claims {
  readonly #claims = new Set<{ id: string; modelName: string | undefined }>()
  readonly #pinned = new Set<string>()
  readonly #open = new Set<string>()
  #transfers = 0

  /** Somebody uses a source's files, or waits for them. The returned function ends it, once. */
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

  /** Blobs that a source being fetched needs stay pinned until nothing is fetched any more: simple, and soon enough. */
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

  /** Partial files that somebody writes to. */
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
