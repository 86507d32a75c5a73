import { CirclePause, CirclePlay, ScrollText, Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import type { NodeView } from '../../../../src/api/admin/schemas.ts'
import { linkTo } from '../../links.ts'
import { Button, ButtonLink } from '../../parts/button.tsx'
import { ApproveButton } from './approve-button.tsx'
import { useNodeChanges } from './use-node-changes.ts'

/** What can be done to the node of the page. */
export function NodeButtons({ node, onRemoved }: { node: NodeView; onRemoved: () => void }): ReactNode {
  const { drain, resume, remove, isBusy, canDrain, canResume } = useNodeChanges(node, onRemoved)
  return (
    <>
      <ButtonLink to={linkTo.whyNode(node.id)} icon={ScrollText}>
        Why
      </ButtonLink>
      {canDrain && (
        <Button icon={CirclePause} disabled={isBusy} onClick={drain}>
          Drain
        </Button>
      )}
      {canResume && (
        <Button icon={CirclePlay} disabled={isBusy} onClick={resume}>
          Resume
        </Button>
      )}
      <Button tone="danger" icon={Trash2} disabled={isBusy} onClick={() => void remove()}>
        Remove
      </Button>
      <ApproveButton node={node} small={false} />
    </>
  )
}
