import type { GuardDeps, Shown } from '../access/guard.ts'
import type { ReplicaAt } from '../table/replica-at.ts'
import type { Decision } from '../records/decision.ts'
import type { InferDeps } from './infer.ts'

export interface ShortcutDeps extends InferDeps {
  guard: GuardDeps
  onEnded: (decision: Decision) => void
}

/** What is known of all requests with one head. */
export interface Known {
  shown: Shown
  url: string
  path: string
  sessionKey: string | undefined
  /** Of the client's head, those lines that go on to a replica. */
  lines: string
  /** What is sent to each replica because of it. */
  starts: WeakMap<ReplicaAt, Buffer>
}
