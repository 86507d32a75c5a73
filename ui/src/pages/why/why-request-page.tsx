import type { ReactNode } from 'react'
import { useAnswer } from '../../api/use-answer.ts'
import { Explained } from './explained.tsx'
import { requestReasons } from './request-reasons.ts'
import { Timeline } from './timeline.tsx'

export function WhyRequestPage({ id }: { id: string }): ReactNode {
  const record = useAnswer('explainRequest', { params: { id } })
  const { data } = record
  return (
    <Explained title={`Request ${id}`} answer={record} reasons={data && requestReasons(data)}>
      {data && data.model !== null && <Timeline modelName={data.model} />}
    </Explained>
  )
}
