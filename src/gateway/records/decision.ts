import type { DecisionRecord } from '../../api/decision-record.ts'
import type { LiveRoute } from '../table/routing-table.ts'

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
  /** Whether the client asked for a stream of events. */
  isStream: boolean
  candidates: Candidate[]
  candidateCount: number
  tries: Try[]
  queuedMs: number
  loadWaitMs: number
  status: number
  /** When the first piece of an answer came; 0 when none did. */
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
  /** Whether an engine may have had the request, or some of it. */
  mayHaveReached: boolean
}
