import type { Clock } from '../../platform/run/clock.ts'
import type { Logger } from '../../platform/run/log.ts'
import { Outliers } from './outliers.ts'
import type { Probe, Verdict } from './probe.ts'
import { RouteNotes } from './per-route.ts'
import type { LiveRoute, LiveTable } from '../table/routing-table.ts'

export interface LivenessDeps {
  table: Pick<LiveTable, 'route' | 'heardAtMs'>
  clock: Pick<Clock, 'nowMs'>
  log: Logger
  probe: Probe
  /** A replica that was silent for longer is probed before a request; 0 probes none. */
  ttlMs?: number | undefined
  /** Called for each replica that is ejected. */
  onEjected?: ((route: LiveRoute) => void) | undefined
  /** Called for each replica that cannot be connected to. */
  onUnreachable?: ((route: LiveRoute) => void) | undefined
}

interface Known {
  heardAtMs: number
  /** When it last failed: anything heard before that no longer counts. */
  doubtedAtMs: number
  /** Requests of this gateway that are under way there. */
  underWay: number
  probing: Promise<Verdict> | undefined
  /** When it was last probed while ejected. */
  askedAgainMs: number
}

const TTL_MS = 30_000
/** How often an ejected replica is probed, while there are requests that it could have served. */
const ASK_AGAIN_MS = 1000
/** A replica with an unfinished answer that sent a piece of it in this time is busy, not dead, if it ignores a probe. */
const STILL_PRODUCING_MS = 60_000

/** Which replicas this gateway believes to be alive, from their answers and from control's word on their nodes. */
export class Liveness {
  readonly #deps: LivenessDeps
  readonly #ttlMs: number
  readonly #notes: RouteNotes<Known>
  readonly #outliers: Outliers

  constructor(deps: LivenessDeps) {
    this.#deps = deps
    this.#ttlMs = deps.ttlMs ?? TTL_MS
    this.#notes = new RouteNotes(deps.table)
    this.#outliers = new Outliers(deps)
  }

  /**
   * Why a replica is ejected for now, if it is. An ejected replica is probed now and then, without a request waiting for it;
   * otherwise one that was away for a minute would stay out for another.
   */
  whyOut(route: LiveRoute): string | undefined {
    const why = this.#outliers.whyOut(route)
    if (why !== undefined) this.#askAgain(route)
    return why
  }

  /** Undefined when the replica is known to be alive, so that no request waits; else the result of a probe. */
  check(route: LiveRoute, nowMs = this.#deps.clock.nowMs()): Promise<Verdict> | undefined {
    const known = this.#known(route)
    if (this.#ttlMs === 0 || this.#isConfirmed(route, known, nowMs)) return undefined
    // All requests share one probe, and a client that goes away does not end it.
    known.probing ??= this.#probe(route, known).finally(() => (known.probing = undefined))
    return known.probing
  }

  contact(route: LiveRoute): Contact {
    const known = this.#known(route)
    known.underWay += 1
    return new Contact(known, route, this)
  }

  /** The replica has answered a request. */
  answered(route: LiveRoute, known: Known, nowMs = this.#deps.clock.nowMs()): void {
    known.heardAtMs = nowMs
    // In the same millisecond as a failure, the success wins.
    known.doubtedAtMs = -Infinity
    this.#outliers.succeeded(route)
  }

  /** It could not be reached, or broke off: it is probed before the next request is sent to it. */
  doubt(route: LiveRoute): void {
    this.#known(route).doubtedAtMs = this.#deps.clock.nowMs()
  }

  /** The replica could not be reached. */
  failed(route: LiveRoute, why: string): void {
    this.#failed(route, why)
    this.#deps.onUnreachable?.(route)
  }

  #failed(route: LiveRoute, why: string): void {
    this.doubt(route)
    this.#outliers.failed(route, why)
  }

  /** Its node refused in its place. A replica that is not there (404), or has another generation (409), cannot serve. */
  refused(route: LiveRoute, status: number): void {
    const why = `refused with status ${status}`
    if (status === 404 || status === 409) {
      this.doubt(route)
      this.#outliers.misdirected(route, why)
    } else this.#failed(route, why)
  }

  #askAgain(route: LiveRoute): void {
    const known = this.#known(route)
    const nowMs = this.#deps.clock.nowMs()
    if (this.#ttlMs === 0 || known.probing || Math.abs(nowMs - known.askedAgainMs) < ASK_AGAIN_MS) return
    known.askedAgainMs = nowMs
    known.probing = this.#probe(route, known).finally(() => (known.probing = undefined))
  }

  #isConfirmed({ nodeId }: LiveRoute, known: Known, nowMs: number): boolean {
    if (this.#isRecent(known.heardAtMs, known, nowMs)) return true
    const lastMs = this.#deps.table.heardAtMs(nodeId)
    return lastMs !== undefined && this.#isRecent(lastMs, known, nowMs)
  }

  #isRecent(lastMs: number, { doubtedAtMs }: Known, nowMs: number): boolean {
    return lastMs > doubtedAtMs && nowMs - lastMs <= this.#ttlMs
  }

  async #probe(route: LiveRoute, known: Known): Promise<Verdict> {
    const verdict = await this.#deps.probe(route)
    if (verdict.state === 'silent' && this.#isBusy(known)) return { state: 'alive' }
    if (verdict.state === 'alive') this.answered(route, known)
    else if (verdict.state === 'dead' && verdict.status !== undefined) this.refused(route, verdict.status)
    else if (verdict.state === 'silent') this.#failed(route, verdict.why)
    else this.failed(route, verdict.why)
    return verdict
  }

  #isBusy({ underWay, heardAtMs }: Known): boolean {
    return underWay > 0 && this.#deps.clock.nowMs() - heardAtMs <= STILL_PRODUCING_MS
  }

  #known(route: LiveRoute): Known {
    const noted = this.#notes.get(route)
    if (noted) return noted
    const known: Known = {
      heardAtMs: -Infinity,
      doubtedAtMs: -Infinity,
      underWay: 0,
      probing: undefined,
      askedAgainMs: -Infinity,
    }
    this.#notes.set(route, known)
    return known
  }
}

/** A request under way at a replica. An object without closures: there is one for each request. */
export class Contact {
  readonly #known: Known
  readonly #route: LiveRoute
  readonly #liveness: Liveness
  #hasAnswered = false

  constructor(known: Known, route: LiveRoute, liveness: Liveness) {
    this.#known = known
    this.#route = route
    this.#liveness = liveness
  }

  /** A piece of its answer has arrived. */
  heard(nowMs: number): void {
    // Only the first piece shows that the replica accepts requests; later ones come on an open connection.
    if (this.#hasAnswered) this.#known.heardAtMs = nowMs
    else this.#liveness.answered(this.#route, this.#known, nowMs)
    this.#hasAnswered = true
  }

  /** Must be called once, whatever the outcome. */
  end(): void {
    this.#known.underWay -= 1
  }
}
