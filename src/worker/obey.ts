import type { Bus } from '../bus/bus.ts'
import { AppError } from '../platform/errors.ts'
import type { Supervisor } from './supervisor.ts'

export interface Obedience {
  nodeType: 'backend' | 'agent'
  supervisor: Supervisor
  /** The heartbeat that will be the first to tell of what is started now. */
  nextSeq: () => number
  onShutdown: (reason: string) => void
}

/** Does what control asks of this node over the bus. */
export function obey(bus: Bus, nodeId: string, { nodeType, supervisor, nextSeq, onShutdown }: Obedience): void {
  bus.respond(
    'replicaStart',
    async (spec) => {
      if (nodeType === 'agent') throw new AppError('conflict', 'This node is an agent: it runs no replicas.')
      supervisor.start(spec)
      return { known_from_seq: nextSeq() }
    },
    nodeId,
  )
  bus.respond('replicaStop', async (ref) => ({ result: supervisor.stop(ref) }), nodeId)
  bus.respond(
    'nodeShutdown',
    async ({ reason }) => {
      onShutdown(reason)
      return {}
    },
    nodeId,
  )
}
