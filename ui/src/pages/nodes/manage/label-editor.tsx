import { useMemo, type ReactNode } from 'react'
import type { NodeView } from '../../../../../src/api/admin/schemas.ts'
import { useChange } from '../../../api/use-change.ts'
import { useNodes } from '../../../live/use-live.ts'
import { KeyValueChips } from '../../../parts/key-value-chips.tsx'
import { knownLabels, labelsOf } from '../node-labels.ts'
import style from './inline-editor.module.css'

/** The labels of a node. What an admin sets wins over its worker's word, and only that can be taken away here. */
export function LabelEditor({ node }: { node: NodeView }): ReactNode {
  const { id, name, label_sources: sources } = node
  const nodes = useNodes()
  const known = useMemo(() => knownLabels(nodes), [nodes])
  const set = useChange('patchLabels', { done: `The labels of ${name} are changed.` })
  const remove = useChange('deleteLabel', {
    done: (_reply, { params }) => `The label ${params?.['key']} of ${name} is removed.`,
  })
  const pairs = labelsOf(node)
  return (
    <div className={style['labels']}>
      <KeyValueChips
        label="Labels"
        pairs={Object.fromEntries(pairs)}
        known={known}
        notes={sources}
        fixed={pairs.flatMap(([key]) => (sources[key] === 'admin' ? [] : [key]))}
        // Not by assignment: a key may be called anything.
        onAdd={(key, value) => set.mutate({ params: { id }, body: Object.fromEntries([[key, value]]) })}
        onRemove={(key) => remove.mutate({ params: { id, key } })}
        disabled={set.isPending || remove.isPending}
      />
      <p className={style['hint']}>
        Those of the worker and automatic ones stay; set another value over them to change them.
      </p>
    </div>
  )
}
