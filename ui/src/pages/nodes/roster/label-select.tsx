import { memo, type ReactNode } from 'react'
import type { NodeView } from '../../../../../src/api/admin/schemas.ts'
import fieldStyle from '../../../parts/field.module.css'
import { labelChoices } from '../node-labels.ts'

interface LabelSelectProps {
  nodes: readonly NodeView[]
  value: string
  onChange: (value: string) => void
}

/** One of the labels that nodes have. */
export const LabelSelect = memo(function LabelSelect({ nodes, value, onChange }: LabelSelectProps): ReactNode {
  return (
    <select
      className={fieldStyle['input']}
      aria-label="Label"
      value={value}
      onChange={({ target }) => onChange(target.value)}
    >
      <option value="">Any label</option>
      {labelChoices(nodes).map(({ key, values }) => (
        <optgroup key={key} label={key}>
          <option value={key}>{key}: any value</option>
          {values.map((text) => (
            <option key={text} value={`${key}=${text}`}>
              {key}={text}
            </option>
          ))}
        </optgroup>
      ))}
    </select>
  )
}, isSameChoice)

/** Nodes are different with every heartbeat, their labels hardly ever. */
function isSameChoice(a: LabelSelectProps, b: LabelSelectProps): boolean {
  if (a.value !== b.value || a.onChange !== b.onChange || a.nodes.length !== b.nodes.length) return false
  return a.nodes.every(({ labels }, i) => labels === b.nodes[i]?.labels)
}
