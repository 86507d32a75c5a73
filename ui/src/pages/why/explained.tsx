import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Failure } from '../../parts/notice.tsx'
import { Page, Panel } from '../../parts/page.tsx'
import { Spinner } from '../../parts/spinner.tsx'
import type { Reason } from './reason.ts'
import { ReasonTree } from './reason-tree.tsx'

/** A page that explains: the tree, and below it what led there. */
export function Explained({
  title,
  answer,
  reasons,
  actions,
  children,
}: {
  title: string
  answer: Pick<UseQueryResult, 'error' | 'isPending' | 'refetch'>
  reasons: readonly Reason[] | undefined
  actions?: ReactNode
  children: ReactNode
}): ReactNode {
  return (
    <Page title={title} actions={actions}>
      {answer.error && <Failure error={answer.error} onRetry={() => void answer.refetch()} />}
      {answer.isPending && <Spinner label="Finding out why…" />}
      {reasons && (
        <Panel title="The answer">
          <ReasonTree reasons={reasons} />
        </Panel>
      )}
      {children}
    </Page>
  )
}
