interface Event {
  atMs: number
  sequence: number
  run: () => void
}

/** Far from 0, so that a time that somebody forgot to set is noticed. */
export const START_MS = 1_000_000

/** Virtual time. Events run in order of (time, the order in which they were asked for), so one seed has one history. */
export class EventQueue {
  nowMs = START_MS
  /** How many events have run: the number that a violation names. */
  ran = 0
  readonly #heap: Event[] = []
  #sequence = 0

  after(delayMs: number, run: () => void): void {
    this.#sequence += 1
    this.#heap.push({ atMs: this.nowMs + Math.max(0, Math.round(delayMs)), sequence: this.#sequence, run })
    this.#up(this.#heap.length - 1)
  }

  /** Runs the next event if it is due by then; otherwise time passes. False when there was none. */
  runNext(untilMs: number): boolean {
    const next = this.#heap[0]
    if (!next || next.atMs > untilMs) {
      this.nowMs = untilMs
      return false
    }
    const last = this.#heap.pop()!
    if (last !== next) {
      this.#heap[0] = last
      this.#down(0)
    }
    this.nowMs = next.atMs
    this.ran += 1
    next.run()
    return true
  }

  #up(index: number): void {
    for (let child = index; child > 0;) {
      const parent = (child - 1) >> 1
      if (!this.#isBefore(child, parent)) return
      this.#swap(child, parent)
      child = parent
    }
  }

  #down(index: number): void {
    for (let parent = index; ;) {
      let first = parent
      for (const child of [2 * parent + 1, 2 * parent + 2]) {
        if (child < this.#heap.length && this.#isBefore(child, first)) first = child
      }
      if (first === parent) return
      this.#swap(first, parent)
      parent = first
    }
  }

  #isBefore(i: number, j: number): boolean {
    const a = this.#heap[i]!
    const b = this.#heap[j]!
    return a.atMs === b.atMs ? a.sequence < b.sequence : a.atMs < b.atMs
  }

  #swap(i: number, j: number): void {
    const event = this.#heap[i]!
    this.#heap[i] = this.#heap[j]!
    this.#heap[j] = event
  }
}
