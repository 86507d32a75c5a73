import type { ReactNode } from 'react'
import { Page } from '../../parts/page.tsx'
import { KeysPanel } from './keys-panel.tsx'
import { TokensPanel } from './tokens-panel.tsx'

/** Who may ask, and which machines may join. */
export function AccessPage(): ReactNode {
  return (
    <Page
      title="Access"
      about="Keys for whoever asks, tokens for machines that join. Their text is shown once and never again."
    >
      <KeysPanel />
      <TokensPanel />
    </Page>
  )
}
