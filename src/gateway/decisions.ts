import type { DecisionRecord } from '../api/decision-record.ts'
import type { LiveRoute } from './routing-table.ts'

/** A request and what was decided about it, as it is written down on its way. `DecisionRecord` is what others see of it. */
export interface Decision {
  requestId: string
  atMs: number
  method: string
  path: string
  model: string | null
  policy: DecisionRecord['policy']
  keyId: string | null
  /** Whether all candidates are noted, and not only those that it was sent to. */
  isSampled: boolean
  candidates: Candidate[]
  candidateCount: number
  tries: Try[]
  queuedMs: number
  loadWaitMs: number
  status: number
  endedMs: number
}

export interface Candidate {
  route: LiveRoute
  here: number
  elsewhere: number
  lastUsedMs: number | undefined
  leftOut: string | null
}

export interface Try {
  route: LiveRoute
  outcome: DecisionRecord['tries'][number]['outcome']
  status: number | null
  error: string | null
  ms: number
  /** Whether an engine may have had the request, or some of it. */
  mayHaveReached: boolean
}

/** A few megabytes at most, and minutes of a gateway that is not under attack. */
const MOST_ORDINARY = 10_000
const MOST_NOTABLE = 2000
/** Nobody looks at more; to rank and hold the candidates of each of thousands a second takes longer than to serve them. */
const MOST_SAMPLED_PER_S = 100

/**
 * The last decisions, for whoever asks why. What failed or took more than one try has room of its own, so that thousands
 * of requests that went well do not push it out. Keeping one costs the hot path a slot in a ring and one in a map; the
 * record is made when it is asked for.
 */
export class Decisions {
  readonly #gateway: string
  readonly #ordinary = new Ring(MOST_ORDINARY)
  readonly #notable = new Ring(MOST_NOTABLE)
  readonly #byRequestId = new Map<string, Decision>()
  #second = 0
  #sampled = 0

  constructor(gateway: string) {
    this.#gateway = gateway
  }

  /** Whether all about a request that comes now is written down: always, until there are many a second. */
  isSampled(nowMs: number): boolean {
    const second = Math.floor(nowMs / 1000)
    if (second !== this.#second) this.#sampled = 0
    this.#second = second
    this.#sampled += 1
    return this.#sampled <= MOST_SAMPLED_PER_S
  }

  keep(decision: Decision): void {
    const isNotable = decision.status >= 400 || decision.tries.length !== 1 || decision.tries[0]!.outcome !== 'served'
    const forgotten = (isNotable ? this.#notable : this.#ordinary).push(decision)
    // Clients choose ids, and one that was chosen twice means the later request.
    if (forgotten && this.#byRequestId.get(forgotten.requestId) === forgotten) {
      this.#byRequestId.delete(forgotten.requestId)
    }
    this.#byRequestId.set(decision.requestId, decision)
  }

  find(requestId: string): DecisionRecord | undefined {
    const decision = this.#byRequestId.get(requestId)
    return decision && toRecord(decision, this.#gateway)
  }
}

/** Holds the last so many; the oldest makes room. */
class Ring {
  readonly #most: number
  readonly #slots: Decision[] = []
  #next = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Returns what had to go. */
  push(decision: Decision): Decision | undefined {
    const forgotten = this.#slots[this.#next]
    this.#slots[this.#next] = decision
    this.#next = (this.#next + 1) % this.#most
    return forgotten
  }
}

function toRecord(decision: Decision, gateway: string): DecisionRecord {
  const { atMs, tries } = decision
  const ranks = new Map(tries.map(({ route }, i) => [route.replicaId, i]))
  const rankOf = ({ route }: Candidate): number => ranks.get(route.replicaId) ?? tries.length
  return {
    request_id: decision.requestId,
    at: atMs,
    gateway,
    method: decision.method,
    path: decision.path,
    model: decision.model,
    policy: decision.policy,
    key_id: decision.keyId,
    candidates: decision.candidates
      .toSorted((a, b) => rankOf(a) - rankOf(b))
      .map(({ route, here, elsewhere, lastUsedMs, leftOut }) => ({
        replica_id: route.replicaId,
        node_name: route.nodeName,
        in_flight_here: here,
        in_flight_elsewhere: elsewhere,
        idle_ms: lastUsedMs === undefined ? null : Math.max(0, Math.round(atMs - lastUsedMs)),
        available_vram: route.availableVram,
        left_out: leftOut,
      })),
    candidate_count: decision.candidateCount,
    tries: tries.map(({ route, outcome, status, error, ms }) => ({
      replica_id: route.replicaId,
      node_name: route.nodeName,
      outcome,
      status,
      error,
      ms: Math.round(ms),
    })),
    queued_ms: Math.round(decision.queuedMs),
    load_wait_ms: Math.round(decision.loadWaitMs),
    status: decision.status,
    duration_ms: Math.round(decision.endedMs - atMs),
  }
}
