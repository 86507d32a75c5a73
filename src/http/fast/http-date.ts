let text = ''
let second = 0

/** The time in the format of the Date header. Made once a second, because it takes longer than the rest of a head. */
export function httpDate(nowMs = Date.now()): string {
  const now = Math.floor(nowMs / 1000)
  if (now === second) return text
  second = now
  text = new Date(now * 1000).toUTCString()
  return text
}
