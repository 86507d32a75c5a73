import { Histogram } from './histogram.ts'

/** More pieces than a plot has points to show; when there are more, two become one. */
const MOST_PIECES = 120

interface Piece {
  due: number
  answered: number
  failed: number
  tokensOut: number
  first: Histogram | undefined
  whole: Histogram | undefined
}

export type Count = 'due' | 'answered' | 'failed' | 'tokensOut'
const COUNTS = ['due', 'answered', 'failed', 'tokensOut'] as const
const TIMES = ['first', 'whole'] as const

/** What happened when, in pieces of time of one length. A run of any length fits: at most 120 pieces of 10 KB. */
export class Timeline {
  #stepMs: number
  #pieces: Piece[] = []

  constructor(stepMs: number) {
    this.#stepMs = stepMs
  }

  get stepMs(): number {
    return this.#stepMs
  }

  get pieces(): readonly Readonly<Piece>[] {
    return this.#pieces
  }

  count(what: Count, atMs: number, by = 1): void {
    this.#at(atMs)[what] += by
  }

  /** Times are noted where a request was due, so that those of a slow moment stand there. */
  time(what: 'first' | 'whole', ms: number, dueMs: number): void {
    const piece = this.#at(dueMs)
    piece[what] ??= new Histogram()
    piece[what].add(ms)
  }

  /** Joins pieces until they are as long as those of another that began with the same length. */
  widenTo(stepMs: number): void {
    while (this.#stepMs < stepMs) this.#halve()
  }

  #at(atMs: number): Piece {
    while (atMs >= this.#stepMs * MOST_PIECES) this.#halve()
    const index = Math.max(0, Math.floor(atMs / this.#stepMs))
    while (this.#pieces.length <= index) this.#pieces.push(emptyPiece())
    return this.#pieces[index]!
  }

  #halve(): void {
    this.#stepMs *= 2
    const halves = this.#pieces
    this.#pieces = Array.from({ length: Math.ceil(halves.length / 2) }, (_, i) =>
      joined(halves[2 * i]!, halves[2 * i + 1]),
    )
  }
}

function emptyPiece(): Piece {
  return { due: 0, answered: 0, failed: 0, tokensOut: 0, first: undefined, whole: undefined }
}

function joined(piece: Piece, other: Piece | undefined): Piece {
  if (!other) return piece
  for (const count of COUNTS) piece[count] += other[count]
  for (const time of TIMES) {
    if (piece[time] && other[time]) piece[time].merge(other[time])
    else piece[time] ??= other[time]
  }
  return piece
}

/** Pieces long enough to hold some requests each, short enough to show what changes; of a length that people read. */
export function stepFor(durationMs: number, ratePerS: number): number {
  const wanted = Math.max(durationMs / 60, Math.min(durationMs / 12, 10_000 / ratePerS))
  return STEPS.find((step) => step >= wanted) ?? STEPS.at(-1)!
}

const STEPS = [50, 100, 200, 250, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 300_000, 900_000, 3_600_000]
