import type { MessageOf, ReplyOf, RequestName } from '../../api/bus/subjects.ts'
import type { Bus } from '../../bus/bus.ts'
import { AppError } from '../../platform/errors.ts'
import { fitEngine, fitPull } from '../report/fit-report.ts'
import { inspectLocalModel } from '../files/inspect-model.ts'
import type { Replicas } from './open-replicas.ts'

export interface Obedience {
  /** Undefined on an agent. */
  replicas: Pick<Replicas, 'supervisor' | 'engines' | 'files' | 'pulls'> | undefined
  /** The number of the first heartbeat that will include what is started now. */
  nextSeq: () => number
  onShutdown: (reason: string) => void
  /** Control does not know this node. */
  onUnknown?: () => void
  /** Whether an id belongs to another cluster than ours. */
  isOther?: (clusterId: string | undefined) => boolean
}

/** Carries out control's commands for this node, which arrive over the bus. */
export function obey(bus: Bus, nodeId: string, { replicas, nextSeq, onShutdown, onUnknown, isOther }: Obedience): void {
  bus.respond(
    'nodeShutdown',
    async ({ reason, cluster_id: from }) => {
      if (isOther?.(from)) throw new AppError('other_cluster', `This node is not of the cluster ${from}.`)
      onShutdown(reason)
      return {}
    },
    nodeId,
  )
  if (onUnknown) bus.subscribe('nodeUnknown', ({ cluster_id: from }) => isOther?.(from) || onUnknown(), nodeId)
  const respond = <N extends RequestName>(name: N, answer: (parts: Parts, message: MessageOf<N>) => Answer<N>): void =>
    bus.respond(
      name,
      async (message) => {
        if (!replicas) throw new AppError('conflict', 'This node is an agent: it runs no replicas.')
        return answer(replicas, message)
      },
      nodeId,
    )
  respond('replicaStart', ({ supervisor }, spec) => {
    supervisor.start(spec)
    return { known_from_seq: nextSeq() }
  })
  respond('replicaStop', ({ supervisor }, message) => supervisor.stop(message))
  respond('engineInstall', ({ engines }, message) => ({ engine: fitEngine(engines.install(message)) }))
  respond('engineUpgrade', ({ engines }, message) => ({ engine: fitEngine(engines.upgrade(message)) }))
  respond('engineDelete', ({ engines }, message) => ({ engine: fitEngine(engines.remove(message)) }))
  respond('engineList', ({ engines }) => ({ engines: engines.report().map(fitEngine) }))
  respond('modelDelete', async ({ supervisor, files }, { model_name: modelName }) => {
    if (supervisor.hasModel(modelName)) {
      throw new AppError('conflict', `A replica of ${modelName} is here. Unload it first.`)
    }
    const { files: count, freedBytes } = await files.delete(modelName)
    return { files: count, freed_bytes: freedBytes }
  })
  respond('modelPull', ({ pulls }, message) => fitPull(pulls.pull(message)))
  respond('modelInspect', (_parts, message) => inspectLocalModel(message))
}

type Parts = NonNullable<Obedience['replicas']>
type Answer<N extends RequestName> = ReplyOf<N> | Promise<ReplyOf<N>>
