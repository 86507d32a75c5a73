import { CirclePause, CirclePlay, Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import type { NodeView } from '../../../../src/api/admin/schemas.ts'
import { ActionMenu } from '../../parts/action-menu.tsx'
import { useNodeChanges } from './use-node-changes.ts'

/** What can be done to a node in the roster, but for its approval, which waits for somebody and has a button. */
export function NodeMenu({ node }: { node: NodeView }): ReactNode {
  const { drain, resume, remove, canDrain, canResume } = useNodeChanges(node)
  return (
    <ActionMenu
      label={`Actions for ${node.name}`}
      actions={[
        { label: 'Drain', icon: CirclePause, onSelect: drain, hidden: !canDrain },
        { label: 'Resume', icon: CirclePlay, onSelect: resume, hidden: !canResume },
        'divider',
        { label: 'Remove from cluster', icon: Trash2, onSelect: () => void remove(), isDanger: true },
      ]}
    />
  )
}
