import type { LoadStatus } from '../api/load-status.ts'
import type { Clock } from '../platform/clock.ts'
import type { ColdLoads } from './cold-loads.ts'
import type { Decision } from './decisions.ts'
import type { Caller } from './guard.ts'
import { findModel } from './models-api.ts'
import { NotServedError } from './not-served.ts'
import type { LiveTable } from './routing-table.ts'
import type { WaitingRoom } from './waiting-room.ts'

export interface ReadyDeps {
  table: LiveTable
  coldLoads: ColdLoads
  waitingRoom: WaitingRoom
  clock: Clock
}

export interface Ask {
  model: string
  caller: Caller
  /** Aborted when the client has gone. */
  gone: AbortSignal
  /** Where the waits are written down. */
  waits: Pick<Decision, 'loadWaitMs' | 'queuedMs'>
  /** How long it waits for the model to be loaded, if not as long as all. */
  budgetMs?: number
  onStatus?: (status: LoadStatus | undefined) => void
}

/** A request that was let in and found nobody may begin anew this often. */
const MOST_ROUNDS = 3
const NONE: ReadonlySet<string> = new Set()

/**
 * Serves when the model has a replica and the request its turn. Who finds at the end that all replicas are gone or refuse
 * waits again, for as long as is left of its time. Whether the model is known and the caller may use it is asked first,
 * so that nobody loads what is not his to use.
 */
export async function serveWhenReady(deps: ReadyDeps, ask: Ask, serve: () => Promise<void>): Promise<void> {
  const { table, coldLoads, waitingRoom, clock } = deps
  const { model, caller, gone, waits } = ask
  let passed = NONE
  for (let round = 1; ;) {
    findModel(table, model, caller)
    if (!coldLoads.isServable(model, passed)) {
      await waitForLoad(deps, ask, passed)
      // All may be tried again; the model may be gone.
      passed = NONE
      continue
    }
    const fromMs = clock.nowMs()
    const leave = await waitingRoom.enter(model, gone)
    waits.queuedMs += clock.nowMs() - fromMs
    try {
      return await serve()
    } catch (thrown) {
      if (!(thrown instanceof NotServedError) || !thrown.mayWait || round === MOST_ROUNDS) throw thrown
      passed = thrown.passed
      round += 1
    } finally {
      leave()
    }
  }
}

async function waitForLoad({ coldLoads, clock }: ReadyDeps, ask: Ask, passed: ReadonlySet<string>): Promise<void> {
  const { model, gone, waits, onStatus = () => {} } = ask
  const fromMs = clock.nowMs()
  const budgetMs = Math.max(0, (ask.budgetMs ?? coldLoads.waitMs) - waits.loadWaitMs)
  try {
    await coldLoads.wait(model, gone, { budgetMs, passed, onStatus })
  } finally {
    waits.loadWaitMs += clock.nowMs() - fromMs
  }
}
