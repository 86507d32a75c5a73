import type { Sent, End } from '../clients/traffic.ts'
import type { Commit } from '../ground/store-mirror.ts'
import type { Machine } from '../machine/machine.ts'
import type { SimEngine } from '../machine/engine.ts'
import type { AppliedPlan } from './applied-plan.ts'

/** A request that reached an engine; `pickedMs` is when its gateway chose that one. */
export interface Reached {
  model: string
  id: number
  gateway: string
  pickedMs: number
}

/** One promise. It holds what it has to remember of one run; each of these says what is wrong, if anything is. */
export interface Check {
  name: string
  /** The store has changed. */
  onCommit?(commit: Commit): string | undefined
  /** A leader's plan is committed. */
  onPlan?(plan: AppliedPlan): string | undefined
  /** A request has reached an engine. */
  onServed?(engine: SimEngine, sent: Reached): string | undefined
  onEnded?(sent: Sent, end: End): string | undefined
  /** A worker tells an engine to end. */
  onToldToEnd?(machine: Machine, engine: SimEngine): string | undefined
  onOutOfMemory?(machine: Machine, engine: SimEngine): string | undefined
  /** A node is let onto the bus. */
  onAllowed?(nodeId: string): string | undefined
  /** Now and then, for what must not last. */
  look?(): string | undefined
  /** After the quiet time. */
  atEnd?(): string | undefined | Promise<string | undefined>
}
