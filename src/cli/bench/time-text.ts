/** `0.42 ms`, `7.1 ms`, `41 ms`, `1.24 s`, `72 s`: three digits, since quantiles are known to one in a hundred. */
export function timeText(ms: number): string {
  if (ms < 1) return `${ms.toFixed(2)} ms`
  if (ms < 10) return `${ms.toFixed(1)} ms`
  if (ms < 1000) return `${Math.round(ms)} ms`
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : ms < 60_000 ? 1 : 0)} s`
}

/** The same without digits that say nothing: `0`, `1 s`, `1.5 s`; for round times. */
export function shortTimeText(ms: number): string {
  if (ms === 0) return '0'
  return timeText(ms)
    .replace(/\.0+(?= )/, '')
    .replace(/(\.\d*[1-9])0+(?= )/, '$1')
}

/** `0.45`, `4.9`, `987`, `12,345`. */
export function rateText(perS: number): string {
  if (perS >= 100) return countText(Math.round(perS))
  return perS.toFixed(perS < 1 ? 2 : 1)
}

export function countText(count: number): string {
  return count.toLocaleString('en-US')
}

/** `1 request was`, `1,200 requests were`. */
export function requestsWere(count: number): string {
  return count === 1 ? '1 request was' : `${countText(count)} requests were`
}

export function shareText(share: number): string {
  const percent = share * 100
  return `${percent > 0 && percent < 1 ? percent.toFixed(1) : Math.round(percent)} %`
}
