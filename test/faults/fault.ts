import type { Cluster } from './harness/cluster.ts'
import type { Entry } from './harness/load.ts'

/** One thing that goes wrong. */
export interface Fault {
  name: string
  /** What it is aimed at; the table is in this order. */
  group: 'frontend' | 'gateway' | 'worker' | 'engine' | 'network' | 'store' | 'bus' | 'machine' | 'rolling restart'
  /** How long it lasts, and how long in the long form where that is not the same. */
  holdMs: number
  longMs?: number
  strike(cluster: Cluster): Promise<Struck>
}

export interface Struck {
  /** Undoes it; what has mended itself needs nothing. */
  heal?: () => Promise<void>
  /** Which requests may fail, besides none. Wrong, cut and hung ones may never be. */
  mayFail?: (entry: Entry) => boolean
  /** The same replicas as before must run afterwards. */
  keepsReplicas: boolean
  /** It could not be done here, and why. */
  leftOut?: string
}

/** Clients of a gateway that is gone notice that their connection is; they go to another. */
export function atGateway(name: string): Pick<Struck, 'mayFail'> {
  return { mayFail: ({ gateway, kind }) => gateway === name && kind === 'lost' }
}

/** What had begun to answer on a node cannot go on elsewhere; it must have been told. */
export function begunOn(name: string): Pick<Struck, 'mayFail'> {
  return { mayFail: ({ node, kind, tokens }) => node === name && kind === 'told' && tokens > 0 }
}
