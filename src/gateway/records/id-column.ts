/** Flotilla's ids, and those of most clients, are UUIDs. */
const USUAL_LENGTH = 36

/**
 * The ids of the last requests, in visible ASCII. Ids of the usual length are kept as bytes: as strings, the only objects of
 * a short request that live on, they would be most of the garbage collector's work.
 */
export class IdColumn {
  readonly #bytes: Buffer
  readonly #unusual: (string | undefined)[] = []

  constructor(most: number) {
    this.#bytes = Buffer.alloc(most * USUAL_LENGTH)
  }

  set(slot: number, id: string): void {
    const isUsual = id.length === USUAL_LENGTH
    this.#unusual[slot] = isUsual ? undefined : id
    if (isUsual) this.#bytes.write(id, slot * USUAL_LENGTH, USUAL_LENGTH, 'latin1')
  }

  at(slot: number): string {
    const start = slot * USUAL_LENGTH
    return this.#unusual[slot] ?? this.#bytes.toString('latin1', start, start + USUAL_LENGTH)
  }
}
