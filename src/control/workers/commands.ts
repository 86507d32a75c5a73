import { messageOf, AppError } from '../../platform/errors.ts'
import type { Bus } from '../../bus/bus.ts'
import { isEnding } from '../../core/lifecycle/states.ts'
import type { Replica } from '../../core/types.ts'
import type { Logger } from '../../platform/run/log.ts'
import type { Database, Sql } from '../../store/sql.ts'
import { appendEvent } from '../../store/nouns/events.ts'
import { checkLease, type HeldLease } from '../../store/nouns/leases.ts'
import { moveReplica, type Move } from '../../store/nouns/replicas.ts'
import type { StoredWorld } from '../../store/world/world.ts'
import { nextStarts } from '../../core/reconcile/next-starts.ts'
import type { OwnWrites } from '../turn/own-changes.ts'
import { replicaFailed } from '../turn/replica-events.ts'

export interface CommandDeps {
  db: Database
  bus: Bus
  log: Logger
  own: OwnWrites
  onChange: () => void
}

const COMMAND_TIMEOUT_MS = 5000

/**
 * Tells workers what the rows ask of them: start what is reserved, stop what is stopping. Every turn asks again for
 * whatever is not done yet; commands are idempotent, so a lost or doubled one costs nothing.
 */
export class Commands {
  readonly #deps: CommandDeps
  readonly #underWay = new Set<string>()

  constructor(deps: CommandDeps) {
    this.#deps = deps
  }

  send(world: StoredWorld, lease: HeldLease): void {
    const online = new Set(world.nodes.filter((node) => node.liveness === 'online').map((node) => node.id))
    for (const replica of nextStarts(world.replicas, world.nodes)) {
      this.#once(`start ${replica.id}`, () => this.#start(world, replica, lease))
    }
    for (const replica of world.replicas) {
      if (online.has(replica.nodeId) && isEnding(replica.state)) this.stop(replica.nodeId, replica)
    }
  }

  /** Also for processes that no row wants: exactly the named one is stopped. */
  stop(nodeId: string, { id, generation }: { id: string; generation: number }): void {
    this.#once(`stop ${id} ${generation}`, async () => {
      const target = { what: 'replica', id, generation } as const
      const command = { target, force: false, wait_ms: 0 }
      await this.#deps.bus.request('replicaStop', command, { nodeId, timeoutMs: COMMAND_TIMEOUT_MS })
    })
  }

  async #start(world: StoredWorld, replica: Replica, lease: HeldLease): Promise<void> {
    const model = world.models.find(({ name }) => name === replica.modelName)
    if (!model || model.revision !== replica.revision) return
    const node = world.nodes.find(({ id }) => id === replica.nodeId)
    const nodeName = node?.name ?? replica.nodeId
    const { bus, db, own, onChange } = this.#deps
    const spec = {
      id: replica.id,
      generation: replica.generation,
      model_name: replica.modelName,
      replica_index: replica.replicaIndex,
      engine: model.engine,
      source: model.source,
      options: model.options,
      // Without a device there is none to choose.
      ...(node && node.devices.length > 0 && replica.claim
        ? { devices: replica.claim.devices.map(({ index }) => index) }
        : {}),
    }
    let move: Move
    try {
      const reply = await bus.request('replicaStart', spec, { nodeId: replica.nodeId, timeoutMs: COMMAND_TIMEOUT_MS })
      // The first phase there is; the heartbeat that follows says which one it is in.
      move = { to: 'installing', knownFromSeq: reply.known_from_seq }
    } catch (error) {
      // The next turn retries after silence; a refusal is final for this replica.
      if (!(error instanceof AppError) || error.code === 'unavailable') throw error
      move = { to: 'failed', error: error.message }
    }
    const write = async (tx: Sql): Promise<boolean> => {
      await checkLease(tx, lease)
      if (!(await moveReplica(tx, replica, move))) return false
      if (move.to === 'failed') await appendEvent(tx, replicaFailed(replica, nodeName, move.error ?? null, null))
      return true
    }
    const moved = await own.during({ nodeIds: [replica.nodeId] }, () => db.transaction(write))
    // Its first heartbeat may have been quicker than the answer; either way the next turn sees the truth.
    if (moved) onChange()
  }

  #once(what: string, work: () => Promise<void>): void {
    if (this.#underWay.has(what)) return
    this.#underWay.add(what)
    work()
      .catch((error: unknown) =>
        this.#deps.log.debug({ command: what, error: messageOf(error) }, 'control: no answer yet'),
      )
      .finally(() => this.#underWay.delete(what))
  }
}
