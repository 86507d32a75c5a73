/** What one bus user may do. Patterns are NATS subjects with `*` and `>`. Derived from the subject table, never written by hand. */
export interface Permissions {
  publish: readonly string[]
  subscribe: readonly string[]
  /** May answer the requests that reach it, on the reply subject each of them names. */
  respond: boolean
}
