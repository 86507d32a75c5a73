import type { Statement } from '../hooks.ts'

/** How the statements of src/store begin that a bug waits for; both have the node's id as their first parameter. */
const beginnings = {
  heartbeat: /^\s*update nodes set last_heartbeat = now_ms\(\)/,
  registration: /^\s*update nodes set name = \$2/,
} as const

/** Those of a transaction that say that a node was heard, or that a node that is known has registered again. */
export function statementsOf(what: keyof typeof beginnings, statements: readonly Statement[]): Statement[] {
  return statements.filter(({ text }) => beginnings[what].test(text))
}
