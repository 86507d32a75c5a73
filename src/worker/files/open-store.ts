import { retryLimits, type RetryLimits } from '../../model-files/source/persist.ts'
import { openReach } from '../../model-files/source/reach.ts'
import { Turns } from '../../model-files/source/turns.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { Logger } from '../../platform/run/log.ts'
import { Bandwidth } from './bandwidth.ts'
import { Claims } from './store/claims.ts'
import { collectOldest, usedBytes } from './store/collect.ts'
import type { FetchSourceDeps } from './fetch-source.ts'
import type { FrontendFiles } from './frontend-files.ts'
import { Layout } from './store/layout.ts'
import { Lock } from './store/lock.ts'
import { Manifests } from './store/manifests.ts'
import { SharedWork } from './shared-work.ts'
import { Space } from './store/space.ts'
import type { Store } from './store/store.ts'
import { removeLeftovers, sweep } from './store/sweep.ts'

export interface TransferOptions {
  /** The space that all files together may take; beyond it, the least recently used are deleted. */
  quotaBytes?: number | undefined
  /** For all transfers together. */
  bytesPerSecond?: number | undefined
  hfEndpoint: string
  /** Sent to the endpoint's own host only. */
  hfToken?: string | undefined
  /** Hosts and ranges outside the public internet that sources may point to. */
  allowSources?: readonly string[]
  freeBytes: () => Promise<{ free: number; total: number }>
  random?: () => number
  limits?: Partial<TransferLimits>
}

export interface TransferLimits {
  /** A connection that delivers nothing for this long is cut. */
  stallMs: number
  /** How many bytes are written between two checks of the free disk space. */
  checkEveryBytes: number
  retry: RetryLimits
}

const STALL_MS = 60_000
const CHECK_EVERY_BYTES = 256 * 1024 * 1024
const TRANSFERS_AT_ONCE = 4
const QUESTIONS_AT_ONCE = 8

/** Opens the folder and removes leftovers of an earlier run. */
export async function openStore({ folder, clock, log }: { folder: string; clock: Clock; log: Logger }): Promise<Store> {
  const layout = new Layout(folder)
  await layout.make()
  const manifests = await Manifests.open(layout, log)
  const store = { layout, manifests, claims: new Claims(), lock: new Lock(), clock, log }
  await removeLeftovers(store)
  await sweep(store)
  return store
}

/** Puts together everything that a transfer needs. */
export function wireTransfers(
  options: TransferOptions & { folder: string; frontend: FrontendFiles },
  store: Store,
): FetchSourceDeps {
  const { folder, quotaBytes, freeBytes, frontend, random = Math.random, limits } = options
  const { clock, log, lock } = store
  return {
    store,
    clock,
    log,
    random,
    stallMs: limits?.stallMs ?? STALL_MS,
    checkEveryBytes: limits?.checkEveryBytes ?? CHECK_EVERY_BYTES,
    limits: limits?.retry ?? retryLimits,
    hub: { endpoint: options.hfEndpoint, token: options.hfToken },
    reach: openReach(options.allowSources ?? []),
    frontend,
    bandwidth: new Bandwidth(options.bytesPerSecond, clock),
    space: new Space({
      folder,
      quotaBytes,
      freeBytes,
      usedBytes: () => usedBytes(store),
      collectOldest: () => collectOldest(store),
      lock,
      clock,
      log,
    }),
    transfers: new Turns(TRANSFERS_AT_ONCE),
    questions: new Turns(QUESTIONS_AT_ONCE),
    files: new SharedWork(),
  }
}
