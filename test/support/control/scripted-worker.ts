import type { MessageOf, ReplyOf, RequestName } from '../../../src/api/bus/subjects.ts'
import { NobodyListensError, type Bus } from '../../../src/bus/bus.ts'
import { AppError } from '../../../src/platform/errors.ts'
import { anEngine } from '../builders.ts'
import { aDecision } from '../gateway/decision.ts'

export const KNOWN_REQUEST = 'req-1'

type Script = { [N in RequestName]?: (message: MessageOf<N>, nodeId: string) => ReplyOf<N> | Promise<ReplyOf<N>> }

/** Workers and gateways on the bus that do as a test says; what is not in the script finds nobody. */
export class ScriptedWorker implements Pick<Bus, 'request' | 'isConnected'> {
  script: Script = { ...polite }
  connected = true
  readonly asked: { name: RequestName; message: unknown; nodeId: string; timeoutMs: number }[] = []

  async request<N extends RequestName>(
    name: N,
    message: MessageOf<N>,
    { nodeId = '', timeoutMs }: { nodeId?: string; timeoutMs: number },
  ): Promise<ReplyOf<N>> {
    this.asked.push({ name, message, nodeId, timeoutMs })
    const reply = this.script[name] as ((message: MessageOf<N>, nodeId: string) => ReplyOf<N>) | undefined
    if (reply) return reply(message, nodeId)
    throw new NobodyListensError(name)
  }

  isConnected(): boolean {
    return this.connected
  }

  /** As after the worker has been killed. */
  leave(): void {
    this.script = {}
  }

  /** The messages of one kind, in order. */
  told<N extends RequestName>(name: N): MessageOf<N>[] {
    return this.asked.flatMap((one) => (one.name === name ? [one.message as MessageOf<N>] : []))
  }
}

/** Has no replicas, accepts what it is told, has two files to delete and remembers one request. */
const polite: Script = {
  replicaStop: () => ({ replicas: [] }),
  engineInstall: ({ engine, command_id: id }) => ({ engine: underWay(engine, 'install', id) }),
  engineUpgrade: ({ engine, command_id: id }) => ({ engine: underWay(engine, 'upgrade', id) }),
  engineDelete: ({ engine, command_id: id }) => ({ engine: underWay(engine, 'delete', id) }),
  modelPull: ({ pull_id: id }) => ({ id, state: 'running', progress: null, error: null, bytes: null }),
  modelDelete: () => ({ files: 2, freed_bytes: 1000 }),
  nodeShutdown: () => ({}),
  why({ request_id: id }) {
    if (id === KNOWN_REQUEST) return { decision: aDecision({ request_id: id }) }
    throw new AppError('unavailable', 'No answer on the bus to why: timeout.')
  },
}

function underWay(name: string, kind: 'install' | 'upgrade' | 'delete', id: string) {
  const operation = { id, kind, state: 'running' as const, error: null, stopped: [], progress: null }
  return anEngine({ name, operation })
}
