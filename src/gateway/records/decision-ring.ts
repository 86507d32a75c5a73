import type { Decision } from './decision.ts'
import { IdColumn } from './id-column.ts'
import type { LiveRoute } from '../table/routing-table.ts'

/**
 * Holds the last decisions, up to a limit; the oldest makes room. Ordinary requests are kept as values in preallocated
 * columns: the garbage collector would copy such long-lived objects twice and then sweep them, which took longer than all
 * the rest of their recording.
 */
export class DecisionRing {
  readonly #most: number
  /** Decisions that are kept as objects. */
  readonly #whole: (Decision | undefined)[] = []
  readonly #ids: IdColumn
  readonly #paths: string[] = []
  readonly #models: (string | null)[] = []
  readonly #policies: Decision['policy'][] = []
  readonly #keys: (string | null)[] = []
  readonly #routes: LiveRoute[] = []
  readonly #numbers: Float64Array
  #next = 0

  constructor(most: number) {
    this.#most = most
    this.#ids = new IdColumn(most)
    this.#numbers = new Float64Array(most * COLUMNS)
  }

  push(decision: Decision): void {
    const slot = this.#next
    this.#next = slot + 1 === this.#most ? 0 : slot + 1
    this.#ids.set(slot, decision.requestId)
    const isBrief = !decision.isSampled && isOrdinary(decision)
    this.#whole[slot] = isBrief ? undefined : decision
    if (isBrief) this.#write(slot, decision)
  }

  /** Oldest first. */
  *ids(): Iterable<[id: string, slot: number]> {
    const count = this.#whole.length
    const first = count < this.#most ? 0 : this.#next
    for (let i = 0; i < count; i += 1) {
      const slot = (first + i) % count
      yield [this.#ids.at(slot), slot]
    }
  }

  at(slot: number): Decision {
    return this.#whole[slot] ?? this.#read(slot)
  }

  #write(slot: number, decision: Decision): void {
    const { candidates, tries } = decision
    const chosen = candidates[0]!
    this.#paths[slot] = decision.path
    this.#models[slot] = decision.model
    this.#policies[slot] = decision.policy
    this.#keys[slot] = decision.keyId
    this.#routes[slot] = chosen.route
    const numbers = this.#numbers
    const at = slot * COLUMNS
    numbers[at] = decision.atMs
    numbers[at + 1] = decision.endedMs
    numbers[at + 2] = decision.status
    numbers[at + 3] = decision.candidateCount
    numbers[at + 4] = decision.queuedMs
    numbers[at + 5] = decision.loadWaitMs
    numbers[at + 6] = chosen.here
    numbers[at + 7] = chosen.elsewhere
    numbers[at + 8] = chosen.lastUsedMs ?? Number.NaN
    numbers[at + 9] = tries[0]!.ms
    numbers[at + 10] = decision.firstByteMs
  }

  #read(slot: number): Decision {
    const route = this.#routes[slot]!
    const [atMs, endedMs, status, candidateCount, queuedMs, loadWaitMs, here, elsewhere, used, ms, firstByteMs] =
      this.#numbers.subarray(slot * COLUMNS, (slot + 1) * COLUMNS) as unknown as Row
    const lastUsedMs = Number.isNaN(used) ? undefined : used
    return {
      requestId: this.#ids.at(slot),
      atMs,
      method: 'POST',
      path: this.#paths[slot]!,
      model: this.#models[slot]!,
      policy: this.#policies[slot]!,
      keyId: this.#keys[slot]!,
      isSampled: false,
      isStream: false,
      candidates: [{ route, here, elsewhere, lastUsedMs, leftOut: null }],
      candidateCount,
      tries: [{ route, outcome: 'served', status, error: null, ms, mayHaveReached: true }],
      queuedMs,
      loadWaitMs,
      status,
      firstByteMs,
      endedMs,
    }
  }
}

type Row = [number, number, number, number, number, number, number, number, number, number, number]
const COLUMNS = 11

/** The first chosen replica served it without an error. */
function isOrdinary({ method, status, tries, candidates }: Decision): boolean {
  if (method !== 'POST' || status >= 400 || tries.length !== 1 || tries[0]!.outcome !== 'served') return false
  return candidates.length === 1 && candidates[0]!.leftOut === null && tries[0]!.status === status
}
