import { useState } from 'react'
import { standingOf, type Standing, type Stored } from './standing.ts'

export interface Editing<D> extends Standing {
  draft: D
  /** When editing began, or since theirs was taken. */
  before: Stored<D> | undefined
  edit: (some: Partial<D>) => void
  takeTheirs: () => void
}

/** What is typed, kept apart from what is stored, which others may change meanwhile. */
export function useDraft<D>(now: Stored<D> | undefined, blank: D): Editing<D> {
  const [before, setBefore] = useState(now)
  const [draft, setDraft] = useState(now?.draft ?? blank)
  return {
    ...standingOf(before, now),
    draft,
    before,
    edit: (some) => setDraft((old) => ({ ...old, ...some })),
    takeTheirs: () => {
      if (!now) return
      setBefore(now)
      setDraft(now.draft)
    },
  }
}
