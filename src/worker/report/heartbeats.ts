import type { HeartbeatMessage, ReportedEngineMessage, ReportedReplicaMessage } from '../../api/bus/messages.ts'
import type { Hardware } from '../../api/hardware.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { messageOf } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'
import { RepeatedLines } from '../../platform/run/repeated-lines.ts'
import { startLoop, type Loop } from '../../platform/run/loop.ts'
import type { Boot } from '../membership/boot.ts'

export interface HeartbeatDeps {
  boot: Pick<Boot, 'id' | 'nextSeq' | 'takeSeq'>
  runId: string
  publish: (heartbeat: HeartbeatMessage) => void
  /** Every replica on this node. */
  report: () => ReportedReplicaMessage[]
  engines: () => ReportedEngineMessage[]
  hardware: () => Hardware
  /** Ids of replicas that have ended, but that the memory figures may still include. */
  unread: () => string[]
  /** The cluster did not know this node a moment ago. */
  isReturned?: () => boolean
  clock: Clock
  log: Logger
}

/** Reports to the cluster at an interval, and at once after every change, what this node runs and what it has. */
export class Heartbeats {
  readonly #deps: HeartbeatDeps
  #loop: { loop: Loop; periodMs: number } | undefined
  #disposed = false

  constructor(deps: HeartbeatDeps) {
    this.#deps = deps
  }

  /** Starts, or changes the interval. The numbers continue in any case: they count the heartbeats of this boot. */
  every(periodMs: number): void {
    if (this.#disposed || this.#loop?.periodMs === periodMs) return
    void this.#loop?.loop.dispose()
    const { clock, log } = this.#deps
    const lines = new RepeatedLines(clock)
    const onError = (thrown: unknown): void => {
      const error = messageOf(thrown)
      lines.tell(error, (repeated) => log.warn({ error, ...repeated }, 'worker: heartbeat failed'))
    }
    this.#loop = { loop: startLoop({ periodMs, turn: async () => this.#beat(), clock, onError }), periodMs }
  }

  /** Something changed: send a heartbeat now. */
  wake(): void {
    this.#loop?.loop.wake()
  }

  /** The number of the heartbeat that will be the first to include what happens now. */
  nextSeq(): number {
    return this.#deps.boot.nextSeq()
  }

  async dispose(): Promise<void> {
    this.#disposed = true
    await this.#loop?.loop.dispose()
  }

  #beat(): void {
    const { boot, runId, publish, report, engines, hardware, unread, isReturned } = this.#deps
    publish({
      boot_id: boot.id,
      run_id: runId,
      seq: boot.takeSeq(),
      replicas: report(),
      engines: engines(),
      unread: unread(),
      ...(isReturned?.() ? { is_returned: true } : {}),
      ...hardware(),
    })
  }
}
