/** `0`, `0.4`, `12`, `1.2k`: a rate a second. */
export function rateText(rate: number): string {
  if (rate === 0) return '0'
  if (rate < 10) return rate.toFixed(1)
  return rate < 1000 ? String(Math.round(rate)) : `${(rate / 1000).toFixed(1)}k`
}

/** `340 ms`, `1.2 s`; a dash for none. */
export function durationText(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–'
  if (ms < 1000) return `${Math.round(ms)} ms`
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60_000)} min`
}

/** `1 node`, `3 nodes`. */
export function countText(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`
}
