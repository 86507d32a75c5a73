import { Check } from 'lucide-react'
import type { ReactNode } from 'react'
import type { NodeView } from '../../../../src/api/admin/schemas.ts'
import { useChange } from '../../api/use-change.ts'
import { Button } from '../../parts/button.tsx'

/** Lets a node take part; nothing on one that does. */
export function ApproveButton({ node, small = true }: { node: NodeView; small?: boolean }): ReactNode {
  const approve = useChange('approveNode', { done: `${node.name} is approved.` })
  if (node.approved) return null
  return (
    <Button
      small={small}
      tone="primary"
      icon={Check}
      busy={approve.isPending}
      onClick={() => approve.mutate({ params: { id: node.id } })}
      aria-label={`Approve ${node.name}`}
    >
      Approve
    </Button>
  )
}
