/** One histogram, for one set of label values. */
export class HistogramCell {
  /** By bound; the last one counts values above all bounds. */
  readonly counts: Float64Array
  sum = 0
  readonly #bounds: readonly number[]

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number): void {
    let i = 0
    while (i < this.#bounds.length && value > this.#bounds[i]!) i += 1
    this.counts[i]! += 1
    this.sum += value
  }
}
