import type { GuardDeps, Shown } from '../access/guard.ts'
import type { ReplicaAt } from '../table/replica-at.ts'
import type { Decision } from '../records/decision.ts'
import type { InferDeps } from './infer.ts'

export interface ShortcutDeps extends InferDeps {
  guard: GuardDeps
  onEnded: (decision: Decision) => void
}

/** What holds for all requests with one head. */
export interface Known {
  shown: Shown
  url: string
  path: string
  sessionKey: string | undefined
  /** The lines of the client's head that are forwarded. */
  lines: string
  /** The beginning of the forwarded head, by replica. */
  starts: WeakMap<ReplicaAt, Buffer>
}
