import type { Candidate, Decision } from './decision.ts'
import type { DecisionRecord } from '../../api/decision-record.ts'
import { cutText } from '../../core/lib/cut-text.ts'
import { DecisionRing } from './decision-ring.ts'

/** A few megabytes at most, and minutes of a gateway that is not under attack. */
const MOST_ORDINARY = 10_000
const MOST_NOTABLE = 2000
/** Nobody looks at more; to rank and hold the candidates of each of thousands a second takes longer than to serve them. */
const MOST_SAMPLED_PER_S = 100
/** What a client or an engine has written is cut for the record. */
const MOST_TEXT_CHARS = 1000

/**
 * The last decisions, for whoever asks why. What failed or took more than one try has room of its own, so that thousands
 * of requests that went well do not push it out. To keep one is all that the way of a request pays for: where it is found
 * and how it reads is worked out for the few who ask.
 */
export class Decisions {
  readonly #gateway: string
  readonly #ordinary = new DecisionRing(MOST_ORDINARY)
  readonly #notable = new DecisionRing(MOST_NOTABLE)
  /** Undefined when something was kept since it was made. */
  #byRequestId: Map<string, Place> | undefined
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
    this.#byRequestId = undefined
    if (isNotable) this.#notable.push(decision)
    else this.#ordinary.push(decision)
  }

  find(requestId: string): DecisionRecord | undefined {
    this.#byRequestId ??= this.#places()
    const place = this.#byRequestId.get(requestId)
    return place && toRecord(place.ring.at(place.slot), this.#gateway)
  }

  /** Clients choose ids, and one that was chosen twice means the later request. */
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
