import type { ReactNode } from 'react'
import { useAnswer } from '../../api/use-answer.ts'
import { linkTo } from '../../links.ts'
import { useNode } from '../../live/use-live.ts'
import { ButtonLink } from '../../parts/button.tsx'
import { Explained } from './explained.tsx'
import { nodeReasons } from './node-reasons.ts'
import { Timeline } from './timeline.tsx'

export function WhyNodePage({ id }: { id: string }): ReactNode {
  const node = useNode(id)
  const why = useAnswer('explainNode', { params: { id } }, { follows: true })
  const actions = <ButtonLink to={linkTo.node(id)}>Node</ButtonLink>
  return (
    <Explained
      title={`Why ${node?.name ?? id}`}
      actions={actions}
      answer={why}
      reasons={why.data && nodeReasons(why.data)}
    >
      <Timeline nodeId={id} />
    </Explained>
  )
}
