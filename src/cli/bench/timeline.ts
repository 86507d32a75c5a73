import { Histogram } from './histogram.ts'

/** More pieces than a plot has points to show; when there are more, two become one. */
const MOST_PIECES = 120

interface Piece {
  due: number
  answered: number
  failed: number
  tokensOut: number
  first: Histogram
  whole: Histogram
}

export type Count = 'due' | 'answered' | 'failed'

/** What happened when, in pieces of time of one length. A run of any length fits. */
export class Timeline {
  stepMs: number
  #pieces: Piece[] = []

  constructor(stepMs: number) {
    this.stepMs = stepMs
  }

  get pieces(): readonly Readonly<Piece>[] {
    return this.#pieces
  }

  count(what: Count, atMs: number): void {
    this.#at(atMs)[what] += 1
  }

  tokens(count: number, atMs: number): void {
    this.#at(atMs).tokensOut += count
  }

  /** Times are noted where a request was due, so that those of a slow moment stand there. */
  time(what: 'first' | 'whole', ms: number, dueMs: number): void {
    this.#at(dueMs)[what].add(ms)
  }

  #at(atMs: number): Piece {
    while (atMs >= this.stepMs * MOST_PIECES) this.#halve()
    const index = Math.max(0, Math.floor(atMs / this.stepMs))
    while (this.#pieces.length <= index) this.#pieces.push(emptyPiece())
    return this.#pieces[index]!
  }

  #halve(): void {
    this.stepMs *= 2
    const halved: Piece[] = []
    for (let i = 0; i < this.#pieces.length; i += 2) {
      const [piece, other] = [this.#pieces[i]!, this.#pieces[i + 1]]
      if (other) {
        for (const count of ['due', 'answered', 'failed', 'tokensOut'] as const) piece[count] += other[count]
        piece.first.merge(other.first)
        piece.whole.merge(other.whole)
      }
      halved.push(piece)
    }
    this.#pieces = halved
  }
}

function emptyPiece(): Piece {
  return { due: 0, answered: 0, failed: 0, tokensOut: 0, first: new Histogram(), whole: new Histogram() }
}

/** Pieces long enough to hold a few requests each, short enough to show what changes; of a length that people read. */
export function stepFor(durationMs: number, ratePerS: number): number {
  const wanted = Math.max(durationMs / 60, Math.min(durationMs / 10, 5000 / ratePerS))
  return STEPS.find((step) => step >= wanted) ?? STEPS.at(-1)!
}

const STEPS = [50, 100, 200, 250, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 300_000, 900_000, 3_600_000]
