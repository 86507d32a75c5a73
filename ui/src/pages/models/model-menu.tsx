import { CircleHelp, Download, MessageSquare, Pencil, Power, ScrollText, Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import { useLocation } from 'wouter'
import type { LiveModel } from '../../../../src/api/admin/live-schemas.ts'
import type { ReplicaView } from '../../../../src/api/admin/schemas.ts'
import { linkTo } from '../../links.ts'
import { ActionMenu } from '../../parts/action-menu.tsx'
import { useModelActions } from './use-model-actions.tsx'

/** All that can be done to a model. */
export function ModelMenu({ model, replicas }: { model: LiveModel; replicas: readonly ReplicaView[] }): ReactNode {
  const [, navigate] = useLocation()
  const { load, unload, remove } = useModelActions(model)
  const { name, state, origin } = model
  const [first] = replicas
  return (
    <ActionMenu
      label={`Actions for ${name}`}
      actions={[
        { label: 'Load', icon: Download, onSelect: load, hidden: state === 'ready' },
        {
          label: 'Unload everywhere',
          icon: Power,
          onSelect: () => void unload(),
          disabled: replicas.length === 0,
        },
        { label: 'Edit', icon: Pencil, onSelect: () => navigate(linkTo.editModel(name)) },
        'divider',
        {
          label: 'Logs',
          icon: ScrollText,
          onSelect: () => first && navigate(linkTo.logs(first.node_id, name)),
          hidden: first === undefined,
        },
        { label: 'Why', icon: CircleHelp, onSelect: () => navigate(linkTo.whyModel(name)) },
        { label: 'Playground', icon: MessageSquare, onSelect: () => navigate(linkTo.playground(name)) },
        'divider',
        {
          label: origin === 'folder' ? 'Remove (its file is in the served folder)' : 'Remove',
          icon: Trash2,
          onSelect: () => void remove(),
          isDanger: true,
          disabled: origin === 'folder',
        },
      ]}
    />
  )
}
