import { useSyncExternalStore } from 'react'

/** Below this the places stand above the page, as in the shell, and a table has no room. */
const narrow = matchMedia('(max-width: 860px)')

function subscribe(listener: () => void): () => void {
  narrow.addEventListener('change', listener)
  return () => narrow.removeEventListener('change', listener)
}

export function useNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => narrow.matches)
}
