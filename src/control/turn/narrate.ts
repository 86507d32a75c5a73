import { replicaKey } from '../../core/lib/replica-key.ts'
import type { Step } from '../../core/reconcile/plan.ts'
import type { Replica } from '../../core/types.ts'
import type { Logger } from '../../platform/run/log.ts'
import type { ControlCounts } from '../metrics/control-metrics.ts'

/** Logs and counts what control has done, once, with ids. Plans that are not carried out are not logged. */
export type ControlEvents = ReturnType<typeof controlEvents>

export function controlEvents(log: Logger, counts?: Pick<ControlCounts, 'step' | 'moved' | 'gone'>) {
  const about = (replica: Replica): object => ({
    replica: replicaKey(replica.modelName, replica.replicaIndex),
    node: replica.nodeId,
    id: replica.id,
  })
  return {
    leading: (epoch: number) => log.debug({ epoch }, 'control: leading'),
    following: (leader: string) => log.info({ leader }, 'control: another frontend leads'),
    nodeLiveness: (name: string, liveness: string) =>
      liveness === 'online'
        ? log.info({ node: name }, 'node is online')
        : log.warn({ node: name, liveness }, 'node is silent'),
    stepApplied(step: Step) {
      counts?.step(step)
      if (step.kind === 'reserve') {
        log.debug({ replica: replicaKey(step.modelName, step.replicaIndex), node: step.nodeId }, 'replica reserved')
      } else if (step.kind === 'evict') {
        log.info({ ...about(step.replica), for: step.forModel }, 'replica makes room')
      } else {
        log.info(
          { ...about(step.replica), why: step.why },
          step.kind === 'stop' ? 'replica stopping' : 'replica given up',
        )
      }
    },
    replicaMoved(replica: Replica, to: string, error: string | null) {
      counts?.moved(to)
      if (to === 'failed') log.warn({ ...about(replica), error }, 'replica failed')
      else log.debug({ ...about(replica), state: to }, 'replica moved')
    },
    replicaGone(replica: Replica, lost: boolean) {
      counts?.gone(lost)
      if (lost) log.warn(about(replica), 'replica lost: its node no longer runs it')
      else log.info(about(replica), 'replica stopped')
    },
    frozen: (nodes: string[]) =>
      log.error(
        { nodes },
        'most nodes went silent together: their replicas are left alone until they are back; if they are really lost: flotilla nodes accept-loss',
      ),
    thawed: () => log.warn('the mass loss is over: replicas are replaced again'),
    unmet: (modelName: string, missing: number, reasons: string) =>
      log.warn({ model: modelName, missing, reasons }, 'rule cannot be met now'),
  }
}
