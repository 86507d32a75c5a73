import type { RoutingDeltaMessage, RoutingSnapshotMessage } from '../src/api/bus/messages.ts'
import type { LoadStatus } from '../src/api/load-status.ts'
import { defaultTiming, requestMs } from '../src/engines/sim/timing.ts'
import { LiveTable, type LiveRoute } from '../src/gateway/routing-table.ts'
import { SimColdLoads } from './cold-loads.ts'
import type { Ground } from './ground.ts'
import { GATEWAY_CHECK_PERIOD_MS, LOAD_WAIT_MS, MOST_TRIES, MOST_WAITS, SNAPSHOT_TIMEOUT_MS } from './limits.ts'
import type { Answer } from './replica.ts'
import type { SimWorker } from './worker.ts'

/** So many clients, for models that keep a client at one replica. */
const SESSIONS = 20
/** Of each client to go away while it waits for a model, and after how long at most. */
const IMPATIENT = 0.15

export interface GatewayDeps extends Ground {
  name: string
  findWorker: (nodeId: string) => SimWorker | undefined
  askSnapshot: (reply: (snapshot: RoutingSnapshotMessage) => void) => void
  askWanted: (modelName: string, wantedMs: number, reply: (status: LoadStatus) => void) => void
}

export interface OpenRequest {
  modelName: string
  sessionKey: string
  startedMs: number
  tried: Set<string>
  /** How often it has waited for its model. */
  waits: number
}

/** The real routing table, fed over the simulated bus, and the way of a request as in src/gateway/inference.ts. */
export class SimGateway {
  readonly table = new LiveTable()
  /** In order of their start. */
  readonly open = new Set<OpenRequest>()
  /** Every replica that a request was ever sent to: whose counts must come back to 0. */
  readonly used = new Map<string, LiveRoute>()
  readonly name: string
  readonly #deps: GatewayDeps
  readonly #coldLoads: SimColdLoads
  #isAsking = false
  #isWanted = false

  constructor(deps: GatewayDeps) {
    this.#deps = deps
    this.name = deps.name
    const { queue, askWanted, happened } = deps
    const onUnserved = happened.unserved.push.bind(happened.unserved)
    this.#coldLoads = new SimColdLoads({ queue, table: this.table, askWanted, onUnserved })
    this.#refresh()
  }

  hearDelta(delta: RoutingDeltaMessage): void {
    if (!this.table.apply(delta, this.#deps.queue.nowMs)) this.#refresh()
    this.#coldLoads.look()
  }

  request(modelName: string): void {
    const { counts, queue, random } = this.#deps
    counts.accepted += 1
    const sessionKey = `s${random.between(1, SESSIONS)}`
    const request: OpenRequest = { modelName, sessionKey, startedMs: queue.nowMs, tried: new Set(), waits: 0 }
    this.open.add(request)
    this.#try(request)
  }

  /** Asks until somebody who leads answers; once more if a delta did not fit meanwhile. */
  #refresh(): void {
    this.#isWanted = true
    if (this.#isAsking) return
    this.#isWanted = false
    this.#isAsking = true
    const { queue, askSnapshot } = this.#deps
    let isOpen = true
    const again = (): void => {
      this.#isAsking = false
      if (this.#isWanted) this.#refresh()
    }
    askSnapshot((snapshot) => {
      if (!isOpen) return
      isOpen = false
      this.table.replace(snapshot)
      this.#coldLoads.look()
      again()
    })
    queue.after(SNAPSHOT_TIMEOUT_MS, () => {
      if (!isOpen) return
      isOpen = false
      this.#isWanted = true
      queue.after(GATEWAY_CHECK_PERIOD_MS, again)
    })
  }

  /** The best replica, then the next best for as long as nothing has reached the client. */
  #try(request: OpenRequest): void {
    const { parts, queue, random, findWorker } = this.#deps
    const { modelName, sessionKey, tried } = request
    const route = this.table.pick(modelName, { sessionKey }, ({ replicaId }) => tried.has(replicaId))
    if (!route || tried.size >= MOST_TRIES) return this.#wait(request)
    tried.add(route.replicaId)
    this.used.set(route.replicaId, route)
    const done = this.table.begin(route, queue.nowMs)
    queue.after(random.between(1, 3), () => {
      const replica = findWorker(route.nodeId)?.supervisor.find(route.replicaId)
      if (replica?.spec.generation !== route.generation || replica.state !== 'ready' || !replica.hasProcess) {
        if (!parts.broken.has('refusals stay in flight')) done()
        return this.#retry(request, route)
      }
      replica.serve(this.#durationMs(), (answer) => {
        done()
        this.#onAnswer(request, route, answer)
      })
    })
  }

  /** As src/gateway/serve-when-ready.ts: nobody can serve it now, so it waits for somebody who can, within its time. */
  #wait(request: OpenRequest): void {
    const { counts, queue, random } = this.#deps
    const { modelName, startedMs } = request
    const untilMs = startedMs + LOAD_WAIT_MS
    if (!this.table.model(modelName) || request.waits >= MOST_WAITS || queue.nowMs >= untilMs) {
      return this.#end(request, 'refused')
    }
    if (request.waits === 0) counts.waited += 1
    request.waits += 1
    const passed = new Set(request.tried)
    request.tried.clear()
    const leave = this.#coldLoads.wait(modelName, {
      untilMs,
      passed,
      onRoute: () => this.#try(request),
      onUnserved: () => this.#end(request, 'refused'),
    })
    if (!random.chance(IMPATIENT)) return
    const { waits } = request
    queue.after(random.between(0, LOAD_WAIT_MS), () => {
      if (request.waits === waits && leave()) this.#end(request, 'left')
    })
  }

  #onAnswer(request: OpenRequest, route: LiveRoute, answer: Answer): void {
    if (answer === 'served') return this.#end(request, 'served')
    if (answer === 'unreachable') return this.#retry(request, route)
    this.#deps.trace.add(this.name, `an answer of ${route.replicaId} broke off`)
    this.#end(request, 'brokenOff')
  }

  #retry(request: OpenRequest, route: LiveRoute): void {
    this.#deps.counts.retried += 1
    this.#deps.trace.add(this.name, `${route.replicaId} on ${route.nodeId} cannot be reached`)
    if (!this.#deps.parts.broken.has('a death ends the request')) this.#try(request)
  }

  #end(request: OpenRequest, how: 'served' | 'refused' | 'brokenOff' | 'left'): void {
    this.open.delete(request)
    this.#deps.counts[how] += 1
  }

  #durationMs(): number {
    const { random } = this.#deps
    const tokens = { promptTokens: random.between(10, 4000), cachedTokens: 0 }
    return requestMs(defaultTiming, { ...tokens, completionTokens: random.between(1, 400) })
  }
}
