import type { ReactNode } from 'react'
import type { NodeView } from '../../../../../src/api/admin/schemas.ts'
import { BudgetEditor } from './budget-editor.tsx'
import { CapacityEditor } from './capacity-editor.tsx'
import { LabelEditor } from './label-editor.tsx'
import style from './manage-node.module.css'
import { NodeEngines } from './node-engines.tsx'

/** What can be set about a node. */
export function ManageNode({ node }: { node: NodeView }): ReactNode {
  const isBackend = node.node_type === 'backend'
  return (
    <div className={style['manage']}>
      {isBackend && (
        <Section title="Capacity">
          <CapacityEditor node={node} />
        </Section>
      )}
      {isBackend && (
        <Section title="VRAM budget">
          <BudgetEditor node={node} />
        </Section>
      )}
      <Section title="Labels">
        <LabelEditor node={node} />
      </Section>
      {isBackend && (
        <Section title="Engines">
          <NodeEngines node={node} />
        </Section>
      )}
    </div>
  )
}

function Section({ title, children }: { title: string; children: ReactNode }): ReactNode {
  return (
    <section className={style['section']} aria-label={title}>
      <h3>{title}</h3>
      <div className={style['content']}>{children}</div>
    </section>
  )
}
