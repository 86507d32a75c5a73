/** `3s ago`, `5m ago`, `2h ago`, `4d ago`; `never` for none; what lies ahead is `just now`. */
export function agoText(atMs: number | null | undefined, nowMs: number): string {
  if (atMs === null || atMs === undefined) return 'never'
  const s = Math.floor((nowMs - atMs) / 1000)
  if (s <= 0) return 'just now'
  return `${spanText(s)} ago`
}

/** One unit: `42s`, `5m`, `2h`, `4d`. */
export function spanText(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)}s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const exact = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
})
const precise = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
})

/** `14:05`. */
export const clockText = (atMs: number): string => clock.format(atMs)
/** `3 Nov, 14:05:09`. */
export const exactText = (atMs: number): string => exact.format(atMs)
/** `14:05:09.123`. */
export const preciseText = (atMs: number): string => precise.format(atMs)
