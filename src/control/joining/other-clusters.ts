import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'
import { CLUSTER_HEADER } from '../../platform/kept-cluster.ts'
import { addressOf } from '../changes/actor-context.ts'
import type { Conditions } from '../watch/conditions.ts'

/** Machines that have not asked again for so long have gone, or have joined this cluster. */
const FORGOTTEN_AFTER_MS = 3 * 60_000
/** Addresses that are listed: a cluster may have hundreds of machines, and any caller can claim to be of another. */
const MOST_NAMED = 5
const MOST_KNOWN = 1000

export interface OtherClustersDeps {
  clusterId: string
  conditions: Conditions
  clock: Clock
}

/**
 * Refuses the calls of machines that belong to another cluster, and lists them as a problem while they ask. This frontend
 * may be the one that is wrong: started with an empty store at the address of the old one.
 */
export class OtherClusters {
  readonly #deps: OtherClustersDeps
  /** When each address asked last; the one that asked longest ago comes first. */
  readonly #askedMs = new Map<string, number>()
  #cancel = (): void => {}

  constructor(deps: OtherClustersDeps) {
    this.#deps = deps
  }

  /** Throws when the caller says that it belongs to another cluster. */
  check(request: IncomingMessage): void {
    const { clusterId } = this.#deps
    const shown = request.headers[CLUSTER_HEADER]
    if (shown === undefined || shown === clusterId) return
    this.#note(addressOf(request) ?? 'an unknown address')
    throw new AppError('other_cluster', 'This frontend is of another cluster than the machine that asks.', {
      details: { cluster_id: clusterId },
    })
  }

  #note(address: string): void {
    const { clock } = this.#deps
    this.#askedMs.delete(address)
    this.#askedMs.set(address, clock.nowMs())
    if (this.#askedMs.size > MOST_KNOWN) this.#askedMs.delete(this.#askedMs.keys().next().value!)
    this.#cancel()
    this.#cancel = clock.after(FORGOTTEN_AFTER_MS, () => this.#look())
    this.#look()
  }

  #look(): void {
    const { clock, conditions } = this.#deps
    for (const [address, askedMs] of this.#askedMs) {
      if (clock.nowMs() - askedMs < FORGOTTEN_AFTER_MS) break
      this.#askedMs.delete(address)
    }
    const addresses = [...this.#askedMs.keys()]
    const more = addresses.length - MOST_NAMED
    const named = `${addresses.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
    conditions.look(
      'machines of another cluster',
      addresses.length === 0
        ? undefined
        : {
            kind: 'cluster',
            severity: 'error',
            text: `Workers at ${named} belong to another cluster and go on as they are.`,
            advice:
              'if the store of this frontend was lost, restore the backup (flotilla db import); to move a machine here, restart its worker with --new-cluster',
          },
    )
  }
}
