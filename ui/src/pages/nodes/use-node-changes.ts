import type { NodeView } from '../../../../src/api/admin/schemas.ts'
import { call } from '../../api/call.ts'
import { useChange } from '../../api/use-change.ts'
import { countText } from '../../format/figures.ts'
import { useConfirm } from '../../parts/confirm.tsx'

interface NodeChanges {
  /** Asks first where models lose their last replica. */
  drain: () => Promise<void>
  resume: () => void
  /** Asks first. */
  remove: () => Promise<void>
  isBusy: boolean
  canDrain: boolean
  canResume: boolean
}

/** What can be done to a node, wherever it is shown. */
export function useNodeChanges(node: NodeView, onRemoved?: () => void): NodeChanges {
  const { id, name } = node
  const confirm = useConfirm()
  const drain = useChange('drainNode', { done: `${name} takes no new requests and replicas.` })
  const resume = useChange('resumeNode', { done: `${name} takes requests and replicas again.` })
  const remove = useChange('deleteNode', {
    done: `${name} is no longer part of the cluster.`,
    ...(onRemoved ? { onDone: onRemoved } : {}),
  })
  return {
    drain: async () => {
      // A drain does not fail for want of an answer to this.
      const plan = await call('whatIf', { body: { drain: [name] } }).catch(() => undefined)
      const isSure =
        !plan?.left_without?.length ||
        (await confirm({ title: `Drain ${name}?`, text: plan.warnings?.join(' '), confirm: `Drain ${name}` }))
      if (isSure) drain.mutate({ params: { id } })
    },
    resume: () => resume.mutate({ params: { id } }),
    remove: async () => {
      const question = {
        title: `Remove ${name} from the cluster?`,
        text: removalText(node),
        confirm: `Remove ${name}`,
        isDanger: true,
      }
      if (await confirm(question)) remove.mutate({ params: { id } })
    },
    isBusy: drain.isPending || resume.isPending || remove.isPending,
    canDrain: node.approved && node.desired === 'active',
    canResume: node.approved && node.desired === 'draining',
  }
}

function removalText({ name, replica_count: replicas, in_flight_count: inFlight, liveness }: NodeView): string {
  const stays = `To come back, ${name} has to join again.`
  if (replicas === 0) return stays
  const what = `${countText(replicas, 'replica')} will be stopped`
  const running =
    inFlight > 0 ? `, and ${countText(inFlight, 'request')} that ${inFlight === 1 ? 'is' : 'are'} running` : ''
  return liveness === 'online'
    ? `${what}${running}. ${stays}`
    : `It does not answer; its ${countText(replicas, 'replica')} will be forgotten. ${stays}`
}
