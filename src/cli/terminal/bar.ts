/** As wide as leaves room for a name and a rate in 80 columns; in a narrow terminal the words matter more. */
const WIDTH = 24
const LEAST_COLUMNS = 60

/** `[######......]`: the share of a whole; empty while the whole is unknown. */
export function barText(part: number, whole: number | null, width = WIDTH): string {
  const share = whole ? Math.min(1, Math.max(0, part / whole)) : 0
  const filled = Math.floor(width * share)
  return `[${'#'.repeat(filled)}${'.'.repeat(width - filled)}]`
}

/** The same before words, where there is room for both and a whole to be a part of. */
export function barBefore(columns: number, part: number, whole: number | null): string {
  return whole && columns >= LEAST_COLUMNS ? `${barText(part, whole)} ` : ''
}
