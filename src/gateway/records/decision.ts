import type { DecisionRecord } from '../../api/decision-record.ts'
import type { LiveRoute } from '../table/routing-table.ts'

/** A request and the decisions about it, recorded as it is served. `DecisionRecord` is its form in the API. */
export interface Decision {
  requestId: string
  atMs: number
  method: string
  path: string
  model: string | null
  policy: DecisionRecord['policy']
  keyId: string | null
  /** Whether all candidates are recorded, not only the replicas that it was sent to. */
  isSampled: boolean
  /** Whether the client asked for a stream of events. */
  isStream: boolean
  candidates: Candidate[]
  candidateCount: number
  tries: Try[]
  queuedMs: number
  loadWaitMs: number
  status: number
  /** When the first piece of an answer arrived; 0 when none did. */
  firstByteMs: number
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
  /** Whether an engine may have received the request, or part of it. */
  mayHaveReached: boolean
}
