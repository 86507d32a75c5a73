/** The limits of one listener. */
export interface HttpLimits {
  /** Connections at once; further ones get a 503 and are closed. */
  connections: number
  headerBytes: number
  headers: number
  /** A request's head must be complete within this time, from its first byte or from the connection's start. */
  headMs: number
  /** The longest pause within a request's body; the whole body may take as long as it needs. Answers have no limit. */
  bodySilenceMs: number
}

export const defaultHttpLimits: HttpLimits = {
  connections: 10_000,
  headerBytes: 16 * 1024,
  headers: 200,
  headMs: 30_000,
  bodySilenceMs: 60_000,
}
