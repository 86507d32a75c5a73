/** What one listener takes from its clients before it turns them away. */
export interface HttpLimits {
  /** Connections at once; who comes beyond gets a 503 and is closed. */
  connections: number
  headerBytes: number
  headers: number
  /** A request's head must be whole within this time, from its first byte or from the connection's start. */
  headMs: number
  /** A request's body may take as long as it needs, but not bring nothing for this long. Answers may last for ever. */
  bodySilenceMs: number
}

export const defaultHttpLimits: HttpLimits = {
  connections: 10_000,
  headerBytes: 16 * 1024,
  headers: 200,
  headMs: 30_000,
  bodySilenceMs: 60_000,
}
