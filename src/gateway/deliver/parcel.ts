import type { Decision } from '../records/decision.ts'

/** A request or a WebSocket on its way to a replica. */
export interface Parcel {
  readonly model: string
  readonly sessionKey: string | undefined
  /** Filled as the delivery proceeds, through all rounds. */
  readonly decision: DeliveryNotes
  /** Aborted when the client disconnects. */
  readonly gone: AbortSignal
}

export type DeliveryNotes = Pick<Decision, 'tries' | 'candidates' | 'candidateCount' | 'isSampled'>
