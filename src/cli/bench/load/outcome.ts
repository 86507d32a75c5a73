/** How a failed request ended. */
export type FailureKind =
  | 'refused' // a status other than 200
  | 'unreachable' // no connection, or none that held until an answer began
  | 'cut' // an answer that began and has no end
  | 'empty' // an answer without a word in it
  | 'error in stream' // an answer that turned into an error
  | 'timeout'
  | 'not understood'
  | 'unfinished' // still running when the run was ended

export interface Failure {
  kind: FailureKind
  /** Distinguishes it from others of its kind: `429 queue_full`, `ECONNREFUSED`. */
  detail: string
  /** The message of the server, for people. */
  message: string
}

/** The result of one request. Times are those of the clock. */
export interface Outcome {
  endMs: number
  /** When the first word came; only of an answer that was streamed. */
  firstMs: number | undefined
  /** The answer's text, if a next turn needs it. */
  text: string
  tokensIn: number
  tokensOut: number
  /** The answer did not say how many tokens it took. */
  isEstimated: boolean
  /** A kept connection had ended when it was taken, so it was sent a second time. */
  isSentAgain: boolean
  requestId: string | undefined
  /** The replica that answered, if gateways report it. */
  replica: { id: string; node: string } | undefined
  failure: Failure | undefined
}
