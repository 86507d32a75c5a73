import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { NodeView } from '../../../../src/api/admin/schemas.ts'
import { linkTo } from '../../links.ts'
import { Hint } from '../../parts/hint.tsx'
import { Pill } from '../../parts/pill.tsx'
import style from './node-identity.module.css'
import { firstLabels } from './node-labels.ts'
import { SlotBadge } from './roster/slot-badge.tsx'

/** Which node it is: its name, slots, address and labels. */
export function NodeIdentity({ node }: { node: NodeView }): ReactNode {
  return (
    <div className={style['identity']}>
      <div className={style['line']}>
        <Link href={linkTo.node(node.id)} className={style['name']}>
          {node.name}
        </Link>
        {node.node_type === 'agent' ? (
          <Pill tone="idle">agent</Pill>
        ) : (
          <SlotBadge slots={node.max_replicas_per_model} />
        )}
        <span className={style['address']}>{node.address}</span>
      </div>
      <LabelChips node={node} />
    </div>
  )
}

function LabelChips({ node }: { node: NodeView }): ReactNode {
  const { shown, more } = firstLabels(node)
  if (shown.length === 0) return null
  return (
    <ul className={style['labels']} aria-label={`Labels of ${node.name}`}>
      {shown.map(([key, value]) => (
        <li key={key} className={style['label']}>
          {key}={value}
        </li>
      ))}
      {more.length > 0 && (
        <Hint text={more.map(([key, value]) => `${key}=${value}`).join(', ')}>
          <li className={style['more']}>+{more.length} more</li>
        </Hint>
      )}
    </ul>
  )
}
