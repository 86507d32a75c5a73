import type { Decision } from '../records/decision.ts'

/** A request or a WebSocket on its way to a replica. */
export interface Parcel {
  readonly model: string
  readonly sessionKey: string | undefined
  /** Written as it goes; kept from round to round. */
  readonly decision: DeliveryNotes
  /** Aborted when the client has gone. */
  readonly gone: AbortSignal
}

export type DeliveryNotes = Pick<Decision, 'tries' | 'candidates' | 'candidateCount' | 'isSampled'>
