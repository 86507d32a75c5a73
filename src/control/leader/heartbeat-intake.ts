import type { HeartbeatMessage } from '../../api/bus/messages.ts'
import { messageOf } from '../../platform/errors.ts'
import type { Clock } from '../../platform/run/clock.ts'
import type { Logger } from '../../platform/run/log.ts'
import type { RepeatedLines } from '../../platform/run/repeated-lines.ts'
import type { HeldLease } from '../../store/nouns/leases.ts'
import type { Database } from '../../store/sql.ts'
import { HeartbeatQueue } from '../heartbeats/queue.ts'
import { takeApart } from '../heartbeats/take-apart.ts'
import { changedNodes, takeHeartbeats, type HeartbeatFrom, type HeartbeatOutcome } from '../heartbeats/take.ts'
import type { OtherRuns } from '../joining/other-runs.ts'
import type { UnknownNodes } from '../joining/unknown-nodes.ts'
import type { ControlCounts } from '../metrics/control-metrics.ts'
import type { ControlEvents } from '../turn/narrate.ts'
import type { OwnWrites } from '../turn/own-changes.ts'
import type { Commands } from '../workers/commands.ts'
import type { Leadership } from './leadership.ts'

export interface HeartbeatIntakeDeps {
  db: Database
  clock: Clock
  log: Logger
  lines: RepeatedLines
  events: ControlEvents
  counts: Pick<ControlCounts, 'taking'>
  leadership: Leadership
  own: OwnWrites
  commands: Pick<Commands, 'stop'>
  unknown: UnknownNodes
  otherRuns: OtherRuns
  quietWaitMs?: number | undefined
  /** Decisions may be others now: asks for a turn soon. */
  wake: () => void
  /** A heartbeat has appended an event. */
  onEvent: () => void
}

/** Takes in what workers say of themselves, while this frontend leads: writes it, and does what follows from it. */
export class HeartbeatIntake {
  readonly #deps: HeartbeatIntakeDeps
  readonly #queue: HeartbeatQueue

  constructor(deps: HeartbeatIntakeDeps) {
    const { clock, leadership, quietWaitMs } = deps
    this.#deps = deps
    this.#queue = new HeartbeatQueue({
      take: (batch) => this.#take(batch),
      clock,
      isMissed: (nodeId) => leadership.now?.missed.has(nodeId) ?? false,
      quietWaitMs,
    })
  }

  add(heartbeat: HeartbeatMessage, nodeId: string): void {
    const { leadership, clock } = this.#deps
    const leading = leadership.deciding
    if (!leading) return
    leading.heardMs.set(nodeId, clock.nowMs())
    this.#queue.add({ nodeId, heartbeat })
  }

  dispose(): Promise<void> {
    return this.#queue.dispose()
  }

  /** False when they are not written. */
  async #take(batch: HeartbeatFrom[]): Promise<boolean> {
    const { leadership, lines, log } = this.#deps
    const leading = leadership.deciding
    if (!leading) return false
    try {
      await this.#follow(batch, await this.#write(batch, leading.lease))
      return true
    } catch (error) {
      const fields = { nodes: batch.length, error: messageOf(error) }
      lines.tell(`heartbeats ${fields.error}`, (repeated) => {
        log.warn({ ...fields, ...repeated }, 'control: heartbeats were not recorded')
      })
      return false
    }
  }

  async #write(batch: readonly HeartbeatFrom[], lease: HeldLease): Promise<Written> {
    const { db, events, own, counts, lines, log } = this.#deps
    const write = (part: readonly HeartbeatFrom[]): Promise<HeartbeatOutcome[]> => {
      const nodeIds = part.map(({ nodeId }) => nodeId)
      const take = () => own.during({ nodeIds }, () => takeHeartbeats(db, lease, events, part), changedNodes)
      return counts.taking(part.length, take)
    }
    const refused = new Set<string>()
    const outcomes = await takeApart(batch, write, ({ nodeId: node }, error) => {
      refused.add(node)
      lines.tell(`heartbeat of ${node}`, (repeated) => {
        log.warn({ node, error: messageOf(error), ...repeated }, 'control: a heartbeat cannot be recorded')
      })
    })
    return { outcomes, refused }
  }

  /** What follows from heartbeats that were written, and from those that were not. */
  async #follow(batch: readonly HeartbeatFrom[], { outcomes, refused }: Written): Promise<void> {
    const { leadership, unknown, otherRuns, commands, wake, onEvent } = this.#deps
    leadership.now?.feed.hear(outcomes)
    const taken = new Set([...refused, ...outcomes.map(({ nodeId }) => nodeId)])
    const ignored = batch.filter(({ nodeId }) => !taken.has(nodeId))
    await unknown.look(ignored.map(({ nodeId }) => nodeId))
    await otherRuns.look(ignored)
    for (const { nodeId, strays } of outcomes) for (const stray of strays) commands.stop(nodeId, stray)
    if (outcomes.some(({ changed }) => changed) || this.#isRoomFor(outcomes)) wake()
    if (outcomes.some(({ told }) => told)) onEvent()
  }

  /** A heartbeat may tell of the room that something waits for; all of them, that there is time for what was put off. */
  #isRoomFor(outcomes: readonly HeartbeatOutcome[]): boolean {
    const plan = this.#deps.leadership.now?.after?.plan
    if (!plan) return false
    if (plan.untried.length > 0) return true
    return plan.waiting.length + plan.unmet.length > 0 && outcomes.some(({ roomier }) => roomier)
  }
}

interface Written {
  outcomes: HeartbeatOutcome[]
  /** Nodes whose heartbeat the store does not hold. */
  refused: ReadonlySet<string>
}
