import type { LearnedMemory, Model, ModelFacts, NeedSource, Rule } from '../types.ts'

/** What is to be placed, and all that is known of it. */
export interface Need {
  model: Model
  /** Labels that the node must have, all of them. */
  selector: Rule['nodeSelector']
  facts: ModelFacts | null
  /** Of this model only. */
  learned: readonly LearnedMemory[]
  /** Nodes where this model failed to start lately, and how long they are left alone. */
  failing?: ReadonlyMap<string, string>
}

/** What one replica takes on one kind of node, in bytes. */
export interface MemoryNeed {
  source: NeedSource
  /** On its devices in all; 0 when it runs without one. */
  vram: number
  ram: number
  /** Over how many devices it is spread at least. */
  deviceCount: number
  /** It takes this share of each device that it is given, and `vram` says nothing. */
  share: number | null
  /** What it is made of, when it was computed, for people. */
  parts: Readonly<Record<'weights' | 'kv_cache' | 'compute' | 'projector' | 'overhead', number>> | null
}
