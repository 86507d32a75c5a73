import type { Bus } from '../../bus/bus.ts'
import type { LivenessLimits } from '../../core/nodes/liveness.ts'
import type { PlacePolicy } from '../../core/placement/types.ts'
import type { World } from '../../core/types.ts'
import { messageOf } from '../../platform/errors.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { Logger } from '../../platform/run/log.ts'
import type { RepeatedLines } from '../../platform/run/repeated-lines.ts'
import { LeaseLostError } from '../../store/nouns/leases.ts'
import type { Database } from '../../store/sql.ts'
import type { ModelFactsReader } from '../facts/model-facts.ts'
import { adminKeyMessages, RecordedAdminKey } from '../joining/admin-key.ts'
import type { LoadTracker } from '../routing/load-tracker.ts'
import type { ControlEvents } from '../turn/narrate.ts'
import type { OwnWrites } from '../turn/own-changes.ts'
import { Pruning } from '../turn/pruning.ts'
import { reconcileOnce, type Decide, type TurnOutcome } from '../turn/turn.ts'
import { UnmetRules } from '../turn/unmet-rules.ts'
import type { KnownStore } from '../watch/known-store.ts'
import type { StoreWatch } from '../watch/store-watch.ts'
import type { Commands } from '../workers/commands.ts'
import { findAnswering, type ProbeReplica } from '../workers/probe-nodes.ts'
import type { Leadership, Leading } from './leadership.ts'

export interface TurnsDeps {
  db: Database
  bus: Bus
  clock: Clock
  log: Logger
  lines: RepeatedLines
  events: ControlEvents
  leadership: Leadership
  known: KnownStore | undefined
  store: StoreWatch
  own: OwnWrites
  loads: LoadTracker
  commands: Commands
  facts: ModelFactsReader
  owner: string
  adminKey: () => string
  clusterSecret: string
  liveness: LivenessLimits
  policy: PlacePolicy
  deafAfterMs?: number | undefined
  wholeEveryMs?: number | undefined
  decide: Decide | undefined
  probe: ProbeReplica | undefined
  /** Asks for a turn soon. */
  wake: () => void
  /** A turn has appended an event. */
  onEvent: () => void
}

/** The turns of one frontend: each renews the lease; the leader's decide, and tell workers and gateways. */
export class Turns {
  readonly #deps: TurnsDeps
  readonly #ownKey: RecordedAdminKey
  readonly #pruning: Pruning
  readonly #unmetRules: UnmetRules
  #problem: string | undefined
  #cancelRetry = (): void => {}

  constructor(deps: TurnsDeps) {
    const { db, clock, events, owner, adminKey } = deps
    this.#deps = deps
    this.#ownKey = new RecordedAdminKey({ db, clock, owner, adminKey })
    this.#pruning = new Pruning(db, clock)
    this.#unmetRules = new UnmetRules(clock, events)
  }

  /** The last turn's failure, if it failed. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Names of the nodes whose replicas were left alone in the last turn. */
  frozen(): string[] {
    return namesOf(this.#deps.leadership.now?.after?.plan.frozen ?? [])
  }

  async take(): Promise<void> {
    const { bus, known, leadership, store } = this.#deps
    if (known && !(await known.look())) {
      leadership.lose()
      this.#problem = known.foreign()
      return
    }
    // A follower does it as well, and another leads: it is to look.
    if ((await this.#ownKey.record()) && !leadership.now) bus.publish('wake', {})
    const now = await leadership.renew()
    // A follower, and a leader that stands back, has nothing more to do than to find that another leads.
    if (now && !now.standsBack) await this.#lead(now)
    this.#problem = undefined
    store.turnEnded()
  }

  failed(error: unknown): void {
    const { leadership, store, lines, log } = this.#deps
    const problem = messageOf(error)
    this.#problem = problem
    if (error instanceof LeaseLostError) leadership.lose()
    store.turnFailed(error)
    lines.tell(`turn ${problem}`, (repeated) => log.error({ err: error, ...repeated }, 'control: a turn failed'))
  }

  dispose(): void {
    this.#cancelRetry()
  }

  async #lead(now: Leading): Promise<void> {
    const { bus, own, commands, facts, adminKey } = this.#deps
    const { mark, outcome } = await this.#decide(now)
    const { world, keys, adminKeyHashes, plan } = outcome
    now.hearing = bus.isConnected() ? outcome.hearing : undefined
    now.after = outcome
    now.kept = outcome.kept
    now.missed = new Set(world.nodes.flatMap(({ id, liveness: one }) => (one === 'online' ? [] : [id])))
    own.forget(mark)
    forgetOthers(now.heardMs, world)
    this.#tell(outcome)
    this.#unmetRules.tell(plan)
    commands.send(world, now.lease)
    bus.publish('routingDelta', now.feed.update(world, [...adminKeyMessages(adminKey(), adminKeyHashes), ...keys]))
    this.#wakeForRetry(world)
    facts.look(world)
    await this.#pruning.run(now.lease)
  }

  async #decide(now: Leading): Promise<{ mark: number; outcome: TurnOutcome }> {
    const { db, bus, clock, liveness, policy, own, loads, deafAfterMs, wholeEveryMs, decide } = this.#deps
    const { lease, ticks } = now
    const hearing = bus.isConnected() ? now.hearing : undefined
    const wasFrozen = now.after && now.after.plan.frozen.length > 0
    const answering = await findAnswering(db, liveness, this.#deps.clusterSecret, this.#deps.probe)
    // Whatever goes wrong from here on, the next turn reads everything.
    const kept = now.kept
    now.kept = undefined
    const mark = own.mark()
    const outcome = await reconcileOnce(db, lease, {
      limits: liveness,
      policy,
      hearing,
      deafAfterMs,
      answering,
      wasFrozen,
      ticks,
      kept,
      wholeEveryMs,
      ownTouched: () => own.touched(),
      loadsOf: ({ replicas }) => loads.sample(replicas, clock.nowMs()),
      ...(decide && { decide }),
    })
    return { mark, outcome }
  }

  #tell({ plan, silent, freeze, told }: TurnOutcome): void {
    const { events, onEvent } = this.#deps
    for (const node of silent) events.nodeLiveness(node.name, node.liveness)
    for (const step of plan.steps) events.stepApplied(step)
    if (freeze === 'began') events.frozen(namesOf(plan.frozen))
    if (freeze === 'ended') events.thawed()
    if (told) onEvent()
  }

  /** A failed slot is tried again when its wait is over, not when the next period happens to come. */
  #wakeForRetry({ nowMs, replicas }: World): void {
    const { clock, wake } = this.#deps
    this.#cancelRetry()
    const soonest = replicas.reduce((least, { retryAtMs }) => {
      return retryAtMs !== null && retryAtMs > nowMs ? Math.min(least, retryAtMs) : least
    }, Number.POSITIVE_INFINITY)
    if (Number.isFinite(soonest)) this.#cancelRetry = clock.after(soonest - nowMs, wake)
  }
}

/** Nodes come and go; of those that are no more nobody asks when they were heard. */
function forgetOthers(heardMs: Map<string, number>, { nodes }: World): void {
  if (heardMs.size <= nodes.length) return
  const ids = new Set(nodes.map(({ id }) => id))
  for (const id of heardMs.keys()) if (!ids.has(id)) heardMs.delete(id)
}

function namesOf(nodes: readonly { name: string }[]): string[] {
  return nodes.map(({ name }) => name)
}
