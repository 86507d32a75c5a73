/** The few candidates that a person who typed `name` may have meant, nearest first. */
export function nearNames(name: string, candidates: Iterable<string>, most = 3): string[] {
  const wanted = name.toLowerCase()
  const near: { candidate: string; distance: number }[] = []
  for (const candidate of candidates) {
    const other = candidate.toLowerCase()
    const isBeginning = other.startsWith(wanted) && wanted.length > 1
    const distance = Math.min(isBeginning ? 1 : Infinity, editDistance(wanted, other))
    if (distance <= Math.max(1, Math.floor(wanted.length / 3))) near.push({ candidate, distance })
  }
  near.sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1))
  return near.slice(0, most).map(({ candidate }) => candidate)
}

/** Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours cost one each. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const substituted = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      let best = Math.min(last[j]! + 1, row[j - 1]! + 1, substituted)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, beforeLast[j - 2]! + 1)
      row.push(best)
    }
    beforeLast = last
    last = row
  }
  return last[b.length]!
}
