import type { LoadStatus } from '../../api/load-status.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { ColdLoads } from '../cold/cold-loads.ts'
import type { Decision } from '../records/decision.ts'
import type { Caller } from '../access/guard.ts'
import { findModel, mayUse } from '../access/find-model.ts'
import { NotServedError } from './unserved-error.ts'
import type { LiveTable } from '../table/routing-table.ts'
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
  /** Aborted when the client disconnects. */
  gone: AbortSignal
  /** Where the waits are recorded. */
  waits: Pick<Decision, 'loadWaitMs' | 'queuedMs'>
  /** How long it waits for the model to be loaded, if not for the default time. */
  budgetMs?: number | undefined
  onStatus?: ((status: LoadStatus | undefined) => void) | undefined
}

/** Called once: without an error when the request was served, or its answer had begun before it failed. */
export type Done = (error?: unknown) => void

/**
 * How often an admitted request that found no replica may start over. When replicas cannot be reached, its time limit ends
 * it, as for a cold model, while control notices that they are gone and replaces them. A round takes 2 s then; the limit
 * is for requests without a time limit.
 */
const MOST_ROUNDS = { refused: 3, unreached: 100 }
const NONE: ReadonlySet<string> = new Set()

/**
 * Serves once the model has a replica and the request has a place, which may be at once. A request whose replicas are all
 * gone or refuse waits again for the rest of its time. The checks that the model exists and that the caller may use it come
 * first, so that no caller makes a model load that it may not use.
 */
export function serveWhenReady(deps: ReadyDeps, ask: Ask, serve: (done: Done) => void, done: Done): void {
  new Rounds(deps, ask, serve, done).next()
}

/** The same for a request that is already being served; `leave` gives back its place. */
export function serveFrom(
  deps: ReadyDeps,
  ask: Ask,
  leave: () => void,
  serve: { first: (done: Done) => void; again: (done: Done) => void },
  done: Done,
): void {
  new Rounds(deps, ask, serve.again, done).goOn(leave, serve.first)
}

class Rounds {
  readonly #deps: ReadyDeps
  readonly #ask: Ask
  readonly #serve: (done: Done) => void
  readonly #done: Done
  #round = 1
  #passed = NONE
  /** Gives back its place in the waiting room. */
  #leave = nothing

  constructor(deps: ReadyDeps, ask: Ask, serve: (done: Done) => void, done: Done) {
    this.#deps = deps
    this.#ask = ask
    this.#serve = serve
    this.#done = done
  }

  goOn(leave: () => void, serve: (done: Done) => void): void {
    this.#leave = leave
    serve(this.#onServed)
  }

  next(): void {
    const place = this.#placeNow()
    if (!place) return void this.#wait()
    this.#leave = place
    this.#serve(this.#onServed)
  }

  /** A place, if the model is ready and has room. A client that has gone goes to `#wait`, which fails for it. */
  #placeNow(): (() => void) | undefined {
    const { table, coldLoads, waitingRoom } = this.#deps
    const { model, caller, gone } = this.#ask
    const isKnown = mayUse(caller, model) && table.model(model) !== undefined
    if (!isKnown || gone.aborted || !coldLoads.isServable(model, this.#passed)) return undefined
    return waitingRoom.enterNow(model)
  }

  async #wait(): Promise<void> {
    const { table, coldLoads, waitingRoom, clock } = this.#deps
    const { model, caller, gone, waits } = this.#ask
    try {
      findModel(table, model, caller)
      while (!coldLoads.isServable(model, this.#passed)) {
        await waitForLoad(this.#deps, this.#ask, this.#passed)
        // Failed replicas may be tried again, and the model may have been removed.
        this.#passed = NONE
        findModel(table, model, caller)
      }
      const fromMs = clock.nowMs()
      this.#leave = await waitingRoom.enter(model, gone)
      waits.queuedMs += clock.nowMs() - fromMs
    } catch (error) {
      return this.#done(error)
    }
    this.#serve(this.#onServed)
  }

  #mayGoOn({ mayWait, isUnreached }: NotServedError): boolean {
    if (!mayWait || this.#round >= MOST_ROUNDS.unreached) return false
    return this.#round < MOST_ROUNDS.refused || (isUnreached && timeLeftMs(this.#deps, this.#ask) > 0)
  }

  readonly #onServed = (error?: unknown): void => {
    this.#leave()
    if (!(error instanceof NotServedError) || !this.#mayGoOn(error)) return this.#done(error)
    this.#passed = error.passed
    this.#round += 1
    this.next()
  }
}

const nothing = (): void => {}

/** How much longer it may wait for a replica. */
function timeLeftMs({ coldLoads }: ReadyDeps, { budgetMs = coldLoads.waitMs, waits }: Ask): number {
  return Math.max(0, budgetMs - waits.loadWaitMs)
}

async function waitForLoad(deps: ReadyDeps, ask: Ask, passed: ReadonlySet<string>): Promise<void> {
  const { coldLoads, clock } = deps
  const { model, gone, waits, onStatus = () => {} } = ask
  const fromMs = clock.nowMs()
  const budgetMs = timeLeftMs(deps, ask)
  try {
    await coldLoads.wait(model, gone, { budgetMs, passed, onStatus })
  } finally {
    waits.loadWaitMs += clock.nowMs() - fromMs
  }
}
