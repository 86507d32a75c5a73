/** A time of day like any other, so that what computes with times of the real world finds nothing odd. */
export const START_MS = 1_750_000_000_000

/** Events that run before others get a turn: between two of them all promises settle, which is what makes them events. */
const BATCH = 128

interface Event {
  atMs: number
  sequence: number
  run: (() => void) | undefined
}

/** Virtual time. Events run in order of (time, the order in which they were asked for), so one seed has one history. */
export class EventQueue {
  nowMs = START_MS
  /** How many events have run: the number that a violation names. */
  ran = 0
  /** Of all events that ran, when and in which order: two runs that differ at all differ in it. */
  hash = 0
  readonly #heap: Event[] = []
  #sequence = 0

  /** The returned function calls it off. */
  after(delayMs: number, run: () => void): () => void {
    const event: Event = {
      atMs: this.nowMs + (delayMs > 0 ? Math.round(delayMs) : 0),
      sequence: (this.#sequence += 1),
      run,
    }
    this.#push(event)
    return () => {
      event.run = undefined
    }
  }

  /**
   * Runs all that is due by then. After each event everything that it set going runs until it waits for another event;
   * then `afterEach` looks at what became of it, and says whether to go on.
   */
  runUntil(untilMs: number, afterEach: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      let isOver = false
      let isFirst = true
      const step = (): void => {
        if (isOver) return
        try {
          const goesOn = isFirst || afterEach()
          isFirst = false
          if (goesOn && this.#runNext(untilMs)) return
          isOver = true
          resolve()
        } catch (error) {
          isOver = true
          reject(error)
        }
      }
      // Node runs what promises have to do between two callbacks of one round.
      const round = (): void => {
        for (let i = 0; i < BATCH; i += 1) setImmediate(step)
        setImmediate(() => !isOver && round())
      }
      round()
    })
  }

  #runNext(untilMs: number): boolean {
    for (;;) {
      const next = this.#heap[0]
      if (!next || next.atMs > untilMs) {
        this.nowMs = untilMs
        return false
      }
      this.#pop()
      const { run } = next
      if (!run) continue
      this.nowMs = next.atMs
      this.ran += 1
      this.hash = (Math.imul(this.hash ^ (next.sequence | 0), 0x9e3779b1) + (next.atMs % 0x7fffffff)) | 0
      run()
      return true
    }
  }

  #push(event: Event): void {
    const heap = this.#heap
    let at = heap.length
    heap.push(event)
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = heap[parent]!
      if (isBefore(above, event)) break
      heap[at] = above
      at = parent
    }
    heap[at] = event
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()!
    const count = heap.length
    if (count === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= count) break
      if (child + 1 < count && isBefore(heap[child + 1]!, heap[child]!)) child += 1
      const below = heap[child]!
      if (isBefore(last, below)) break
      heap[at] = below
      at = child
    }
    heap[at] = last
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs === b.atMs ? a.sequence < b.sequence : a.atMs < b.atMs
}
