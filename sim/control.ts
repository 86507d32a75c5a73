import type { HeartbeatMessage, RoutingDeltaMessage, RoutingSnapshotMessage } from '../src/api/bus/messages.ts'
import { endingState } from '../src/core/lifecycle/states.ts'
import type { LoadStatus } from '../src/api/load-status.ts'
import { Memory } from '../src/core/reconcile/memory.ts'
import type { Step } from '../src/core/reconcile/plan.ts'
import type { HeldLease } from '../src/store/leases.ts'
import type { StoredWorld } from '../src/store/world.ts'
import { SimCommands } from './commands.ts'
import type { Ground } from './ground.ts'
import { LEASE_TTL_MS, MOST_REFUSALS, STORE_DELAY_MS, TURN_PERIOD_MS, WHOLE_EVERY_MS } from './limits.ts'
import { SimLoop } from './loop.ts'
import { misread, type Parts } from './parts.ts'
import { takeHeartbeat } from './take-heartbeat.ts'
import type { SimWorker } from './worker.ts'

export interface ControlDeps extends Ground {
  owner: string
  findWorker: (nodeId: string) => SimWorker | undefined
  publishDelta: (delta: RoutingDeltaMessage) => void
}

interface Leading {
  lease: HeldLease
  feed: ReturnType<Parts['newFeed']>
  listeningSinceMs: number
  lastTurnMs: number
  /** Made anew now and then, as src/control/kept-world.ts does when it reads everything. */
  memory: Memory
  memorySinceMs: number
  /** After the last turn; undefined before the first. */
  world?: StoredWorld
}

/** A demand is written again when it would last this much longer. */
const LONGER_MS = 10_000

/** One run of one frontend's control role, as src/control/start-control.ts: leads, or waits to lead. */
export class SimControl {
  readonly owner: string
  readonly #deps: ControlDeps
  readonly #commands: SimCommands
  readonly #loop: SimLoop
  #leading: Leading | undefined
  #isAlive = true
  #frozenUntilMs = 0
  #retryTimer = 0

  constructor(deps: ControlDeps) {
    this.#deps = deps
    this.owner = deps.owner
    const later = (delayMs: number, run: () => void): void => deps.queue.after(delayMs, () => this.#whenAwake(run))
    this.#commands = new SimCommands({ ...deps, later, onChange: () => this.#loop.wake() })
    this.#loop = new SimLoop(TURN_PERIOD_MS, later, (done) => this.#turn(done, later))
  }

  isLeading(): boolean {
    return this.#isAlive && this.#leading !== undefined
  }

  /** The process is gone and forgets everything; the store stays. */
  kill(): void {
    this.#isAlive = false
  }

  /** Stands still, as a machine that swaps or sleeps; what arrives meanwhile is read when it wakes. */
  freeze(forMs: number): void {
    this.#frozenUntilMs = Math.max(this.#frozenUntilMs, this.#deps.queue.nowMs + forMs)
  }

  wake(): void {
    this.#whenAwake(() => this.#loop.wake())
  }

  hear(nodeId: string, heartbeat: HeartbeatMessage): void {
    this.#whenAwake(() => this.#takeHeartbeat(nodeId, heartbeat))
  }

  answerSnapshot(reply: (snapshot: RoutingSnapshotMessage) => void): void {
    this.#whenAwake(() => this.#leading && reply(this.#leading.feed.snapshot(0)))
  }

  /** As src/control/cold-loads.ts: the answer comes from the world after the last turn, the demand goes into the store. */
  want(modelName: string, wantedMs: number, reply: (status: LoadStatus) => void): void {
    this.#whenAwake(() => {
      const { parts, policy, queue, random, store } = this.#deps
      const world = this.#leading?.world
      if (!world) return
      const status = parts.loadStatusOf(world, modelName, policy)
      const demand = world.demands.find((one) => one.modelName === modelName)
      const lastsMs = demand ? demand.wantedUntilMs - world.nowMs : 0
      const isNew = lastsMs < wantedMs - LONGER_MS || lastsMs <= 0
      if (status.state === 'ready' || status.state === 'unknown' || !isNew) return reply(status)
      queue.after(random.between(1, STORE_DELAY_MS), () => {
        if (!parts.broken.has('demands are not written')) store.saveDemand(modelName, wantedMs)
        this.#whenAwake(() => {
          this.#loop.wake()
          reply(status)
        })
      })
    })
  }

  #whenAwake(run: () => void): void {
    if (!this.#isAlive) return
    const { queue } = this.#deps
    if (queue.nowMs >= this.#frozenUntilMs) return run()
    queue.after(this.#frozenUntilMs - queue.nowMs, () => this.#whenAwake(run))
  }

  /** The lease in one transaction, the decision in another: between the two anything may happen. */
  #turn(done: (ok: boolean) => void, later: (delayMs: number, run: () => void) => void): void {
    this.#leading = this.#lead()
    if (!this.#leading) return done(true)
    later(this.#deps.random.between(1, STORE_DELAY_MS), () => done(this.#reconcileOnce()))
  }

  #lead(): Leading | undefined {
    const { store, queue, trace, counts, parts } = this.#deps
    const lease = store.lease.acquire(this.owner)
    if (!lease) return undefined
    const before = this.#leading
    const { nowMs } = queue
    if (before?.lease.epoch === lease.epoch) return before
    counts.leaders += 1
    trace.add(this.owner, `leads, epoch ${lease.epoch}`)
    const memory = new Memory({ mostRefusals: MOST_REFUSALS })
    const since = { listeningSinceMs: nowMs, lastTurnMs: nowMs, memorySinceMs: nowMs }
    return { lease, feed: parts.newFeed(), memory, ...since }
  }

  /** As src/control/turn.ts: one transaction, and only while the lease is ours. */
  #reconcileOnce(): boolean {
    const { store, queue, parts, policy, happened, counts, trace, publishDelta } = this.#deps
    const leading = this.#leading
    if (!leading || !store.lease.isHeldBy(leading.lease)) {
      this.#leading = undefined
      trace.add(this.owner, 'no longer leads')
      return false
    }
    counts.turns += 1
    const { nowMs } = queue
    // Who stood still for longer than a lease lasts has not listened either. Asked here, where the silence is judged.
    if (nowMs - leading.lastTurnMs > LEASE_TTL_MS) leading.listeningSinceMs = nowMs
    leading.lastTurnMs = nowMs
    for (const { name, liveness } of store.nodes.judgeLiveness(leading.listeningSinceMs)) {
      trace.add(this.owner, `${name} is ${liveness}`)
    }
    const world = { ...store.loadWorld(), heardSinceMs: leading.listeningSinceMs }
    if (nowMs - leading.memorySinceMs >= WHOLE_EVERY_MS) {
      Object.assign(leading, { memory: new Memory({ mostRefusals: MOST_REFUSALS }), memorySinceMs: nowMs })
    }
    const plan = parts.reconcile(misread(world, parts.broken), policy, leading.memory)
    const problems = parts.checkPlan(world, plan)
    happened.planProblems.push(...problems)
    if (problems.length > 0) return false
    happened.commits.push(leading.lease)
    for (const step of plan.steps) this.#apply(step)
    store.deleteExpiredDemands()
    if (plan.steps.length > 0) happened.applied.push({ before: world, steps: plan.steps })

    const after = plan.steps.length === 0 ? world : store.loadWorld()
    leading.world = after
    this.#commands.send(after, leading.lease)
    publishDelta(leading.feed.update(after, []))
    happened.published.push(leading.feed.snapshot(0).routes)
    this.#wakeForRetry(after)
    return true
  }

  #apply(step: Step): void {
    const { store, trace, counts } = this.#deps
    if (step.kind === 'reserve') {
      store.reserveReplica(step)
      trace.add(this.owner, `reserves ${step.modelName}#${step.replicaIndex} on ${step.nodeId}`)
      return
    }
    const { replica } = step
    if (step.kind === 'forget') store.deleteReplica(replica)
    else store.moveReplica(replica, { to: endingState(replica.state) })
    if (step.kind === 'evict') counts.evictions += 1
    const why = step.kind === 'evict' ? `for ${step.forModel}` : step.why
    const name = `${replica.modelName}#${replica.replicaIndex} (${replica.id})`
    trace.add(this.owner, `${step.kind}s ${name} on ${replica.nodeId}: ${why}`)
  }

  #wakeForRetry({ nowMs, replicas }: StoredWorld): void {
    this.#retryTimer += 1
    const timer = this.#retryTimer
    const retries = replicas.flatMap(({ retryAtMs }) => (retryAtMs !== null && retryAtMs > nowMs ? [retryAtMs] : []))
    if (retries.length === 0) return
    this.#deps.queue.after(Math.min(...retries) - nowMs, () => timer === this.#retryTimer && this.wake())
  }

  #takeHeartbeat(nodeId: string, heartbeat: HeartbeatMessage): void {
    const { store, happened, trace } = this.#deps
    const leading = this.#leading
    if (!leading || !store.lease.isHeldBy(leading.lease)) return
    const taken = takeHeartbeat(this.#deps, nodeId, heartbeat)
    if (!taken) return
    happened.commits.push(leading.lease)
    for (const { replica, lost } of taken.gone) {
      trace.add(this.owner, `${replica.id} on ${nodeId} ${lost ? 'is lost' : 'has stopped'}`)
    }
    for (const stray of taken.strays) {
      trace.add(this.owner, `${stray.id} on ${nodeId} is a stray`)
      this.#commands.stop(nodeId, stray)
    }
    if (taken.isNews) this.#loop.wake()
  }
}
