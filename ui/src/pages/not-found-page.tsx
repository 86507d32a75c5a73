import type { ReactNode } from 'react'
import { ButtonLink } from '../parts/button.tsx'
import { Empty } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'

export function NotFoundPage(): ReactNode {
  return (
    <Page title="Not found">
      <Empty action={<ButtonLink to="/">To the fleet</ButtonLink>}>There is no page at this address.</Empty>
    </Page>
  )
}
