import type { Candidate, Decision } from './decision.ts'
import type { DecisionRecord } from '../../api/decision-record.ts'
import { cutText } from '../../core/lib/cut-text.ts'
import { DecisionRing } from './decision-ring.ts'

/** A few megabytes at most, and some minutes of requests at an ordinary load. */
const MOST_ORDINARY = 10_000
const MOST_NOTABLE = 2000
/** Requests whose candidates are recorded; to rank them for thousands a second would take longer than serving. */
const MOST_SAMPLED_PER_S = 100
/** Text from a client or an engine is cut to this length. */
const MOST_TEXT_CHARS = 1000

/**
 * The last decisions, to explain a request afterwards. Requests that failed or took more than one try have a ring of their
 * own, so that thousands of successful ones do not push them out. A request pays only for `keep`; the index and the record
 * are made when a caller asks for one.
 */
export class Decisions {
  readonly #gateway: string
  readonly #ordinary = new DecisionRing(MOST_ORDINARY)
  readonly #notable = new DecisionRing(MOST_NOTABLE)
  /** Undefined when a decision was kept since it was made. */
  #byRequestId: Map<string, Place> | undefined
  #second = 0
  #sampled = 0

  constructor(gateway: string) {
    this.#gateway = gateway
  }

  /** Whether to record all candidates of a request that arrives now: for the first 100 requests of each second. */
  isSampled(nowMs: number): boolean {
    const second = Math.floor(nowMs / 1000)
    if (second !== this.#second) this.#sampled = 0
    this.#second = second
    this.#sampled += 1
    return this.#sampled <= MOST_SAMPLED_PER_S
  }

  keep(decision: Decision): void {
    const isNotable = decision.status >= 400 || decision.tries.length !== 1 || decision.tries[0]!.outcome !== 'served'
    this.#byRequestId = undefined
    if (isNotable) this.#notable.push(decision)
    else this.#ordinary.push(decision)
  }

  find(requestId: string): DecisionRecord | undefined {
    this.#byRequestId ??= this.#places()
    const place = this.#byRequestId.get(requestId)
    return place && toRecord(place.ring.at(place.slot), this.#gateway)
  }

  /** Clients choose ids, so an id may occur twice; it then means the later request. */
  #places(): Map<string, Place> {
    const places = new Map<string, Place>()
    for (const ring of [this.#ordinary, this.#notable]) {
      for (const [id, slot] of ring.ids()) {
        const known = places.get(id)
        const isLater = !known || known.ring === ring || known.ring.at(known.slot).endedMs <= ring.at(slot).endedMs
        if (isLater) places.set(id, { ring, slot })
      }
    }
    return places
  }
}

interface Place {
  ring: DecisionRing
  slot: number
}

function toRecord(decision: Decision, gateway: string): DecisionRecord {
  const { atMs, tries } = decision
  const ranks = new Map(tries.map(({ route }, i) => [route.replicaId, i]))
  const rankOf = ({ route }: Candidate): number => ranks.get(route.replicaId) ?? tries.length
  return {
    request_id: cutText(decision.requestId, MOST_TEXT_CHARS),
    at: atMs,
    gateway,
    method: decision.method,
    path: cutText(decision.path, MOST_TEXT_CHARS),
    model: decision.model && cutText(decision.model, MOST_TEXT_CHARS),
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
      error: error && cutText(error, MOST_TEXT_CHARS),
      ms: Math.round(ms),
    })),
    queued_ms: Math.round(decision.queuedMs),
    load_wait_ms: Math.round(decision.loadWaitMs),
    status: decision.status,
    duration_ms: Math.round(decision.endedMs - atMs),
  }
}
