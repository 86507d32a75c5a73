/**
 * The maximum number of label sets of one metric; further ones count under `other`, since names may come from clients.
 */
export const MOST_SETS = 1000
export const OTHER = 'other'

/** One cell for each set of label values, up to a limit. */
export class LabelSets<T> {
  readonly #make: () => T
  readonly #sets = new Map<string, { labels: readonly string[]; cell: T }>()

  constructor(make: () => T) {
    this.#make = make
  }

  get(labels: readonly string[]): T {
    const key = keyOf(labels)
    const known = this.#sets.get(key)
    if (known) return known.cell
    if (this.#sets.size >= MOST_SETS && labels.some((label) => label !== OTHER))
      return this.get(labels.map(() => OTHER))
    const cell = this.#make()
    this.#sets.set(key, { labels: [...labels], cell })
    return cell
  }

  delete(labels: readonly string[]): void {
    this.#sets.delete(keyOf(labels))
  }

  *all(): Iterable<[readonly string[], T]> {
    for (const { labels, cell } of this.#sets.values()) yield [labels, cell]
  }
}

/** The key of a label set. With a single label, which is the usual case, nothing is concatenated. */
function keyOf(labels: readonly string[]): string {
  return labels.length === 1 ? labels[0]! : labels.join('\0')
}
