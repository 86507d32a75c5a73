import type { AnswerHead } from '../../http/upstream/answer-parser.ts'
import type { HistogramCell } from '../../platform/metrics/histogram-cell.ts'
import type { Cell } from '../../platform/metrics/metrics.ts'
import type { AnswerObserver, Forwarded } from '../../http/proxy.ts'
import { usageIn } from './usage-in.ts'

/** The counters of one replica; the caller keeps them between answers. */
export interface ReplicaCells {
  outcomes: Record<Forwarded['outcome'], Cell>
  tokensIn: Cell
  tokensOut: Cell
  /** Answers whose token count could not be read. */
  untold: Cell
  firstToken: HistogramCell
  betweenTokens: HistogramCell
}

/**
 * Usage stands at the end of an answer, and with some engines at its beginning: the bytes in between are not searched.
 */
const HEAD_BYTES = 512
const TAIL_BYTES = 2048

/**
 * Times one answer of an engine as it passes, and reads its token count at the end. Each piece costs one copy into the
 * tail buffer; nothing is parsed before the end.
 */
export class AnswerMeter implements AnswerObserver {
  readonly #cells: ReplicaCells
  readonly #fromMs = performance.now()
  #isStream = false
  #isRead = false
  #firstMs = 0
  #pieces = 0
  #first: string | undefined
  #last: string | undefined
  #tail: Buffer | undefined
  /** Bytes ever written to the tail. */
  #written = 0

  constructor(cells: ReplicaCells) {
    this.#cells = cells
  }

  head({ statusCode, headers }: AnswerHead): void {
    const type = headers['content-type'] ?? ''
    this.#isStream = type.startsWith('text/event-stream')
    const isText = this.#isStream || type.startsWith('application/json')
    this.#isRead = statusCode === 200 && isText && headers['content-encoding'] === undefined
  }

  piece(bytes: Buffer): void {
    if (!this.#isRead) return
    if (this.#firstMs === 0) {
      this.#firstMs = performance.now()
      this.#first = bytes.toString('latin1', 0, HEAD_BYTES)
    }
    this.#pieces += 1
    this.#keep(bytes)
  }

  /** The same for an answer that arrived in one piece; its body begins at `bodyAt`. */
  whole(head: AnswerHead, bytes: Buffer, bodyAt: number): void {
    this.head(head)
    if (!this.#isRead || bytes.length === bodyAt) return
    this.#firstMs = performance.now()
    this.#pieces = 1
    this.#last = bytes.toString('latin1', Math.max(bodyAt, bytes.length - TAIL_BYTES))
    this.#first =
      bytes.length - bodyAt <= TAIL_BYTES ? this.#last : bytes.toString('latin1', bodyAt, bodyAt + HEAD_BYTES)
  }

  end(outcome: Forwarded['outcome']): void {
    this.#cells.outcomes[outcome].value += 1
    if (this.#firstMs === 0) return
    const { tokensIn, tokensOut, untold, firstToken, betweenTokens } = this.#cells
    if (this.#isStream) firstToken.observe((this.#firstMs - this.#fromMs) / 1000)
    if (outcome !== 'answered') return
    const usage = usageIn(this.#first!, this.#last ?? this.#lastText())
    if (usage) {
      tokensIn.value += usage.input
      tokensOut.value += usage.output
    } else untold.value += 1
    // Most engines write each token separately, so the number of pieces is the next best count.
    const gaps = (usage?.output ?? this.#pieces) - 1
    if (this.#isStream && gaps > 0) betweenTokens.observe((performance.now() - this.#firstMs) / 1000 / gaps)
  }

  /** Keeps the last bytes in a ring, by copying: the next read overwrites the memory of `bytes`. */
  #keep(bytes: Buffer): void {
    const tail = (this.#tail ??= Buffer.allocUnsafe(TAIL_BYTES))
    const from = Math.max(0, bytes.length - TAIL_BYTES)
    const at = (this.#written + from) % TAIL_BYTES
    const copied = bytes.copy(tail, at, from)
    if (from + copied < bytes.length) bytes.copy(tail, 0, from + copied)
    this.#written += bytes.length
  }

  #lastText(): string {
    const tail = this.#tail!
    const at = this.#written % TAIL_BYTES
    if (this.#written <= TAIL_BYTES) return tail.toString('latin1', 0, this.#written)
    return tail.toString('latin1', at, TAIL_BYTES) + tail.toString('latin1', 0, at)
  }
}
