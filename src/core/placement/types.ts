import type { Claim, Replica } from '../types.ts'

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
