import type { ReplicaStartMessage } from '../src/api/bus/messages.ts'
import { nextStarts } from '../src/control/next-starts.ts'
import { isEnding } from '../src/core/lifecycle/states.ts'
import type { Replica } from '../src/core/types.ts'
import type { HeldLease } from '../src/store/leases.ts'
import type { StoredWorld } from '../src/store/world.ts'
import type { Ground } from './ground.ts'
import { COMMAND_TIMEOUT_MS } from './limits.ts'
import type { SimWorker } from './worker.ts'

export interface CommandDeps extends Ground {
  findWorker: (nodeId: string) => SimWorker | undefined
  /** Runs when the frontend is there and awake to see it. */
  later: (delayMs: number, run: () => void) => void
  onChange: () => void
}

/** As src/control/commands.ts: every turn asks again for whatever is not done yet, one question at a time for each. */
export class SimCommands {
  readonly #deps: CommandDeps
  readonly #underWay = new Set<string>()

  constructor(deps: CommandDeps) {
    this.#deps = deps
  }

  send(world: StoredWorld, lease: HeldLease): void {
    const online = new Set(world.nodes.filter((node) => node.liveness === 'online').map((node) => node.id))
    for (const replica of nextStarts(world.replicas, world.nodes)) this.#start(world, replica, lease)
    for (const replica of world.replicas) {
      if (online.has(replica.nodeId) && isEnding(replica.state)) this.stop(replica.nodeId, replica)
    }
  }

  stop(nodeId: string, { id, generation }: { id: string; generation: number }): void {
    this.#request<void>(`stop ${id} ${generation}`, nodeId, {
      ask: (worker, reply) => worker.obeyStop(id, generation, reply),
      onReply: () => {},
    })
  }

  #start(world: StoredWorld, replica: Replica, lease: HeldLease): void {
    const model = world.models.find(({ name }) => name === replica.modelName)
    if (model?.revision !== replica.revision) return
    const node = world.nodes.find(({ id }) => id === replica.nodeId)
    const spec: ReplicaStartMessage = {
      id: replica.id,
      generation: replica.generation,
      model_name: replica.modelName,
      replica_index: replica.replicaIndex,
      engine: model.engine,
      source: model.source,
      options: model.options,
      ...(node && node.devices.length > 0 && replica.claim
        ? { devices: replica.claim.devices.map(({ index }) => index) }
        : {}),
    }
    this.#request<{ knownFromSeq: number } | 'conflict'>(`start ${replica.id}`, replica.nodeId, {
      ask: (worker, reply) => worker.obeyStart(spec, reply),
      onReply: (answer) => {
        const { store, happened, onChange } = this.#deps
        if (!store.lease.isHeldBy(lease)) return
        happened.commits.push(lease)
        const moved =
          answer === 'conflict'
            ? store.moveReplica(replica, { to: 'failed', error: answer })
            : store.moveReplica(replica, { to: 'installing', knownFromSeq: answer.knownFromSeq })
        if (moved) onChange()
      },
    })
  }

  #request<Reply>(
    what: string,
    nodeId: string,
    { ask, onReply }: { ask: (worker: SimWorker, reply: (answer: Reply) => void) => void; onReply: (r: Reply) => void },
  ): void {
    if (this.#underWay.has(what)) return
    this.#underWay.add(what)
    const { bus, later, findWorker } = this.#deps
    let isOpen = true
    const close = (): boolean => {
      const wasOpen = isOpen
      isOpen = false
      if (wasOpen) this.#underWay.delete(what)
      return wasOpen
    }
    later(COMMAND_TIMEOUT_MS, close)
    bus.carry(nodeId, () => {
      const worker = findWorker(nodeId)
      if (!worker) return
      ask(worker, (answer) => bus.carry(nodeId, () => later(0, () => close() && onReply(answer))))
    })
  }
}
