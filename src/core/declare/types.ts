import type { Label } from '../nodes/labels.ts'
import type { Advice, Refusal } from '../placement/types.ts'
import type { StopReason } from '../reconcile/plan.ts'
import type { Claim, Model, Node, Replica, Rule } from '../types.ts'

/** The settings of a rule, without its source and without what came of it. */
export type DeclaredRule = Omit<Rule, 'source' | 'unsatisfiableUntilMs' | 'unsatisfiableTicks'>

/** What an admin has set on a node, over the word of its worker. */
export interface Overrides {
  labels: Readonly<Record<string, string>>
  /** Null: as the worker declares. */
  slots: number | null
  /** As written; null: as the worker declares. */
  budget: string | null
  isDraining: boolean
}

export interface NodeSettings {
  id: string
  name: string
  nodeType: Node['nodeType']
  /** Approved, and not gone. */
  takesPart: boolean
  /** Without what an admin has set. */
  declared: { labels: readonly Label[]; slots: number; budget: string | null }
  overrides: Overrides
}

/** All that people have set: what a document may change. */
export interface Settings {
  models: readonly Model[]
  rules: readonly Rule[]
  nodes: readonly NodeSettings[]
}

/** What there should be. */
export interface Declaration {
  models: readonly Model[]
  rules: readonly DeclaredRule[]
  nodes: readonly NodeEntry[]
}

/** What is not there stays; null takes back what was set. */
export interface NodeEntry {
  name: string
  labels?: Overrides['labels'] | null | undefined
  slots?: number | null | undefined
  budget?: string | null | undefined
  isDraining?: boolean | undefined
}

/** Something that is not as it should be. Without `before` it is added, without `after` it is removed. */
export type Change =
  | { noun: 'model'; name: string; before?: Model; after?: Model }
  | { noun: 'rule'; name: string; before?: Rule; after?: DeclaredRule }
  | { noun: 'node'; name: string; nodeId: string; before: Overrides; after: Overrides }
  /** Imagined, never applied. */
  | { noun: 'machine'; name: string; is: 'lost' | 'added' }

/** What would be done, one after the other. */
export type ForeseenStep =
  | {
      kind: 'start'
      modelName: string
      replicaIndex: number
      nodeId: string
      claim: Claim
      /** Of its files, to that node; null when their size is unknown. */
      bytesToMove: number | null
    }
  | { kind: 'stop'; replica: Replica; why: StopReason }
  | { kind: 'evict'; replica: Replica; forModel: string }
  /** It is gone with its node. */
  | { kind: 'lost'; replica: Replica }

export interface Impossible {
  modelName: string
  missing: number
  refusals: readonly Refusal[]
  advice: readonly Advice[]
  /** It would fit if others were not in use. */
  isBusy: boolean
}

export interface Foresight {
  steps: ForeseenStep[]
  impossible: Impossible[]
  /** Nodes of a mass disappearance: what was on them is not replaced. */
  frozen: Node[]
  /** False when there is more to come than is looked at. */
  isComplete: boolean
}
