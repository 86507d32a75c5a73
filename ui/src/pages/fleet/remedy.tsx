import { Check, RotateCcw } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Problem } from '../../../../src/api/admin/cluster-schemas.ts'
import { useChange } from '../../api/use-change.ts'
import { linkTo } from '../../links.ts'
import { useReplicasOn } from '../../live/use-live.ts'
import { Button, ButtonLink } from '../../parts/button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'

/** What can be done about a problem with one click, where it is told. */
export function Remedy({ problem }: { problem: Problem }): ReactNode {
  switch (problem.kind) {
    case 'approval':
      return <Approve problem={problem} />
    case 'frozen':
      return <AcceptLoss />
    case 'replica':
      return <Again problem={problem} />
    case 'node':
      return <SilentNode problem={problem} />
    case 'rule':
      return <UnmetRule problem={problem} />
    case 'cluster':
    case 'store':
    case 'gateway':
    case 'process':
      // Mended on a machine, not by a click: the advice says how.
      return null
  }
}

function Approve({ problem: { node_id: id, node_name: name } }: { problem: Problem }): ReactNode {
  const approve = useChange('approveNode', { done: `${name} is approved.` })
  if (id === null) return null
  return (
    <Button
      small
      tone="primary"
      icon={Check}
      busy={approve.isPending}
      onClick={() => approve.mutate({ params: { id } })}
    >
      Approve
    </Button>
  )
}

function AcceptLoss(): ReactNode {
  const confirm = useConfirm()
  const accept = useChange('acceptLoss', {
    done: ({ nodes }) => `Given up: ${nodes.join(', ') || 'none was waited for'}.`,
  })
  const ask = async (): Promise<void> => {
    const text =
      'What ran on the silent nodes counts as lost and is started on others. If they are alive and only the network is broken, both may run for a while.'
    if (await confirm({ title: 'Give the silent nodes up?', text, confirm: 'Give them up', isDanger: true }))
      accept.mutate({})
  }
  return (
    <Button small tone="danger" busy={accept.isPending} onClick={() => void ask()}>
      They are lost: replace them
    </Button>
  )
}

function Again({ problem: { node_id: nodeId, node_name: nodeName, key } }: { problem: Problem }): ReactNode {
  const replicas = useReplicasOn(nodeId ?? '')
  const restart = useChange('restartReplica', {
    done: ({ text }) => text,
    // Its time to be tried again came between the look and the click.
    doneAnyway: ({ status }) =>
      status === 404 || status === 409 ? `${key} on ${nodeName} is being tried again already.` : undefined,
  })
  const replica = replicas.find(({ model_name: name, replica_index: index }) => `${name}#${index}` === key)
  return (
    <>
      {nodeId !== null && key !== null && (
        <ButtonLink small to={linkTo.logs(nodeId, key)}>
          Logs
        </ButtonLink>
      )}
      {replica && (
        <Button
          small
          icon={RotateCcw}
          busy={restart.isPending}
          onClick={() => restart.mutate({ params: { id: replica.id }, body: {} })}
        >
          Try again now
        </Button>
      )}
    </>
  )
}

function SilentNode({ problem: { node_id: id, node_name: name, severity } }: { problem: Problem }): ReactNode {
  const confirm = useConfirm()
  const remove = useChange('deleteNode', { done: `${name} is no longer part of the cluster.` })
  if (id === null) return null
  const ask = async (): Promise<void> => {
    const text = `${name} leaves the cluster for good. To come back it has to join again.`
    if (await confirm({ title: `Remove ${name}?`, text, confirm: 'Remove', isDanger: true }))
      remove.mutate({ params: { id } })
  }
  return (
    <>
      <ButtonLink small to={linkTo.whyNode(id)}>
        Why
      </ButtonLink>
      {severity === 'error' && (
        <Button small tone="danger" busy={remove.isPending} onClick={() => void ask()}>
          Remove
        </Button>
      )}
    </>
  )
}

function UnmetRule({ problem: { model_name: name } }: { problem: Problem }): ReactNode {
  if (name === null) return null
  return (
    <>
      <ButtonLink small to={linkTo.whyModel(name)}>
        Why
      </ButtonLink>
      <ButtonLink small to={linkTo.rule(name)}>
        Change the rule
      </ButtonLink>
    </>
  )
}
