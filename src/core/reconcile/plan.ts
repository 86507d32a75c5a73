import type { Advice, Refusal } from '../placement/types.ts'
import type { Claim, Node, Replica } from '../types.ts'

export type Step =
  /** Take a slot and memory for a new replica. */
  | {
      kind: 'reserve'
      modelName: string
      nodeId: string
      replicaIndex: number
      generation: number
      revision: string
      failures: number
      claim: Claim
    }
  /** Drain and stop a replica that is no longer wanted. */
  | { kind: 'stop'; replica: Replica; why: StopReason }
  /** Drain and stop an idle replica, because another model needs its memory. */
  | { kind: 'evict'; replica: Replica; forModel: string }
  /** Give up a row that has no process: its node is gone, or its start failed. */
  | { kind: 'forget'; replica: Replica; why: 'node offline' | 'failed' }

export type StopReason = 'no model' | 'old revision' | 'surplus' | 'selector' | 'idle' | 'nobody waits'

export interface Plan {
  steps: Step[]
  /** Nodes of a mass disappearance: their replicas are neither given up nor replaced until it is over. */
  frozen: Node[]
  /** What will be placed on that node when these have gone; where none is named, when its memory has been read again. */
  waiting: { modelName: string; nodeId: string; waitsFor: Replica[] }[]
  /** What cannot be placed as things are, with every node's reason. */
  unmet: {
    modelName: string
    missing: number
    refusals: readonly Refusal[]
    advice: readonly Advice[]
    /** It would fit if others were not in use. */
    isBusy: boolean
  }[]
  /** What is missing and was not looked for in this pass, since enough others were refused: nothing is known of it. */
  untried: string[]
}
