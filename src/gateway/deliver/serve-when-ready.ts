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
  /** Aborted when the client has gone. */
  gone: AbortSignal
  /** Where the waits are written down. */
  waits: Pick<Decision, 'loadWaitMs' | 'queuedMs'>
  /** How long it waits for the model to be loaded, if not as long as all. */
  budgetMs?: number | undefined
  onStatus?: ((status: LoadStatus | undefined) => void) | undefined
}

/** Told once: without an error when all went well, or as well as it could once an answer had begun. */
export type Done = (error?: unknown) => void

/**
 * A request that was let in and found no replica may begin anew this often. Where replicas cannot be reached it is the time
 * that ends it, as for a cold model: control finds out that they are gone, and replaces them. A round takes 2 s then, and the
 * limit is for those whose time has no end.
 */
const MOST_ROUNDS = { refused: 3, unreached: 100 }
const NONE: ReadonlySet<string> = new Set()

/**
 * Serves when the model has a replica and the request its turn: at once when both are so. Who finds at the end that all
 * replicas are gone or refuse waits again, for as long as is left of its time. Whether the model is known and the caller
 * may use it is asked first, so that nobody loads what is not his to use.
 */
export function serveWhenReady(deps: ReadyDeps, ask: Ask, serve: (done: Done) => void, done: Done): void {
  new Rounds(deps, ask, serve, done).next()
}

/** The same for a request that has its place already, which `leave` gives back, and is being served. */
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
  /** Gives its place in the room back. */
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

  /** For a model that is there and has room; who has gone is found out by those who wait for him. */
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
        // All may be tried again; the model may be gone.
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
