/** Smaller values count as this; those above `HIGHEST` as that. In milliseconds: 1 µs and a day. */
const LOWEST = 0.001
const HIGHEST = 86_400_000
/** Each bucket ends 2 % above its beginning and is reported by its middle, so values are off by at most 1 %. */
const GROWTH = 1.02
const LOG_GROWTH = Math.log(GROWTH)
const SIZE = Math.ceil(Math.log(HIGHEST / LOWEST) / LOG_GROWTH) + 1

/** The error bound of a quantile, as a share of its value. */
export const QUANTILE_ERROR = 0.01

/** A histogram of any number of values in 5 KB. Count, mean, least and most are exact. */
export class Histogram {
  readonly #buckets = new Uint32Array(SIZE)
  #count = 0
  #sum = 0
  #least = Number.POSITIVE_INFINITY
  #most = 0

  get count(): number {
    return this.#count
  }

  get mean(): number {
    return this.#count === 0 ? 0 : this.#sum / this.#count
  }

  get most(): number {
    return this.#most
  }

  add(value: number): void {
    this.#buckets[bucketOf(value)]! += 1
    this.#count += 1
    this.#sum += value
    if (value < this.#least) this.#least = value
    if (value > this.#most) this.#most = value
  }

  merge(other: Histogram): void {
    for (let i = 0; i < SIZE; i += 1) this.#buckets[i]! += other.#buckets[i]!
    this.#count += other.#count
    this.#sum += other.#sum
    this.#least = Math.min(this.#least, other.#least)
    this.#most = Math.max(this.#most, other.#most)
  }

  /** The smallest value that at least this share of all values does not exceed; 0 when there is none. */
  quantile(share: number): number {
    const rank = Math.max(1, Math.ceil(share * this.#count))
    if (rank >= this.#count) return this.#most
    let passed = 0
    for (let i = 0; i < SIZE; i += 1) {
      passed += this.#buckets[i]!
      if (passed >= rank) return Math.min(this.#most, Math.max(this.#least, middleOf(i)))
    }
    return this.#most
  }

  /** From the smallest to the largest: a value, and the share of all values up to it. */
  *shares(): Generator<{ value: number; share: number }> {
    let passed = 0
    for (let i = 0; i < SIZE; i += 1) {
      if (this.#buckets[i] === 0) continue
      passed += this.#buckets[i]!
      yield { value: Math.min(this.#most, Math.max(this.#least, middleOf(i))), share: passed / this.#count }
    }
  }
}

function bucketOf(value: number): number {
  if (!(value > LOWEST)) return 0
  return Math.min(SIZE - 1, Math.floor(Math.log(value / LOWEST) / LOG_GROWTH))
}

/** The geometric middle of a bucket. */
function middleOf(bucket: number): number {
  return LOWEST * GROWTH ** (bucket + 0.5)
}
