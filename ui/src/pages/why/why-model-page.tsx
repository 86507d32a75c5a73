import type { ReactNode } from 'react'
import { useAnswer } from '../../api/use-answer.ts'
import { linkTo } from '../../links.ts'
import { ButtonLink } from '../../parts/button.tsx'
import { Explained } from './explained.tsx'
import { modelReasons } from './model-reasons.ts'
import { Timeline } from './timeline.tsx'

export function WhyModelPage({ name }: { name: string }): ReactNode {
  const why = useAnswer('explainModel', { params: { name } }, { follows: true })
  const actions = (
    <>
      <ButtonLink to={linkTo.model(name)}>Model</ButtonLink>
      <ButtonLink to={linkTo.rule(name)}>Rule</ButtonLink>
    </>
  )
  return (
    <Explained title={`Why ${name}`} actions={actions} answer={why} reasons={why.data && modelReasons(why.data)}>
      <Timeline modelName={name} />
    </Explained>
  )
}
