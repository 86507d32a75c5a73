import type { Claim, LearnedMemory, Model, ModelFacts, NeedSource, Replica, Rule } from '../types.ts'

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

export const refusalFilters = [
  'approved',
  'backend',
  'active',
  'online',
  'selector',
  'engine',
  'failing',
  'anti_affinity',
  'slot',
  'disk',
  'memory',
] as const
export type RefusalFilter = (typeof refusalFilters)[number]

/** One node's reason for not taking a replica, as data. Numbers are bytes for disk and memory, slots for slots. */
export interface Refusal {
  nodeId: string
  nodeName: string
  filter: RefusalFilter
  needed: string | number
  available: string | number
  /** Which memory is short: `gpu 0`, `2 gpus`, `ram`; null for other filters. */
  where: string | null
}

/** The cheapest change that would let a node take it. */
export interface Advice {
  nodeId: string | null
  nodeName: string | null
  /** What to do, as a person would be told: "free 3.1 GiB on gpu 0 of thor", "raise slots of thor to 2". */
  text: string
}

export type PlacePolicy = 'spread' | 'pack'

export type Placement =
  | {
      ok: true
      nodeId: string
      nodeName: string
      replicaIndex: number
      claim: Claim
      /** It can start at once. If not, others must have ended first, and their memory must have been read as free. */
      isNow: boolean
      /** Must be stopped first, all on this node. */
      victims: readonly Replica[]
      /** Are ending already, and it fits when they are gone; none where it waits only for the memory to be read again. */
      waitsFor: readonly Replica[]
      refusals: readonly Refusal[]
    }
  | {
      ok: false
      refusals: readonly Refusal[]
      /** Best first. */
      advice: readonly Advice[]
      /** Busy replicas, without which it would fit: to wait for them may help. */
      isBusy: boolean
    }
