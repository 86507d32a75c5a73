import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useLayoutEffect, useState, type RefObject } from 'react'

/** So many are drawn at once without a thought; of more only those in sight are. */
const MOST_WHOLE = 100
const BEYOND_SIGHT = 10

interface WindowRows<T> {
  rows: readonly { item: T; index: number }[]
  /** The height of what is left out above and below. */
  beforePx: number
  afterPx: number
  /** The ref of each row, which also has `data-index`. */
  measure: ((row: HTMLElement | null) => void) | undefined
}

/** Which rows of a long list are drawn while the window is scrolled. */
export function useWindowRows<T extends { id: string }>(
  items: readonly T[],
  list: RefObject<HTMLElement | null>,
  rowPx: number,
): WindowRows<T> {
  const [topPx, setTopPx] = useState(0)
  useLayoutEffect(() => {
    // Asking makes the browser lay the page out at once, so it is not done with each change. A line more or less above
    // the list does not matter: more rows are drawn than are in sight.
    setTopPx(Math.round((list.current?.getBoundingClientRect().top ?? 0) + window.scrollY))
  }, [items.length, list])
  const isWhole = items.length <= MOST_WHOLE
  const virtualizer = useWindowVirtualizer({
    count: items.length,
    enabled: !isWhole,
    estimateSize: () => rowPx,
    getItemKey: (index) => items[index]!.id,
    overscan: BEYOND_SIGHT,
    scrollMargin: topPx,
  })
  if (isWhole) {
    return { rows: items.map((item, index) => ({ item, index })), beforePx: 0, afterPx: 0, measure: undefined }
  }
  const inSight = virtualizer.getVirtualItems()
  return {
    rows: inSight.map(({ index }) => ({ item: items[index]!, index })),
    beforePx: (inSight[0]?.start ?? topPx) - topPx,
    afterPx: virtualizer.getTotalSize() - ((inSight.at(-1)?.end ?? topPx) - topPx),
    measure: virtualizer.measureElement,
  }
}
