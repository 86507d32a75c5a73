/** What one bus user may do. Patterns are NATS subjects with `*` and `>`. Derived from the subject table, never written by hand. */
export interface Permissions {
  publish: readonly string[]
  subscribe: readonly string[]
  /** May answer the requests that reach it, on the reply subject each of them names. */
  respond: boolean
  /** What the subjects begin with that it may name for answers to its requests; without it any subject will do. */
  inbox?: string
}
