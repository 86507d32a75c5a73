export interface ChangedRows<T> {
  gone: T[]
  come: T[]
}

/** How far is looked for where two lists go on alike. Changes come one by one, or all rows are new. */
const MOST_AHEAD = 16

/**
 * Which rows of a list are no longer there, and which are new. Rows are replaced and never changed, so that one that is the
 * same object says the same: two lists of fifty thousand are compared in a fraction of a millisecond.
 */
export function changedRows<T>(before: readonly T[], after: readonly T[]): ChangedRows<T> {
  const changed: ChangedRows<T> = { gone: [], come: [] }
  if (before === after) return changed
  let i = 0
  let j = 0
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) {
      i += 1
      j += 1
      continue
    }
    const skip = nextAlike(before, i, after, j)
    if (!skip) break
    for (const end = i + skip.gone; i < end; i += 1) changed.gone.push(before[i]!)
    for (const end = j + skip.come; j < end; j += 1) changed.come.push(after[j]!)
  }
  return withRest(changed, before.slice(i), after.slice(j))
}

function nextAlike<T>(before: readonly T[], i: number, after: readonly T[], j: number) {
  for (let ahead = 1; ahead <= MOST_AHEAD; ahead += 1) {
    for (let gone = 0; gone <= ahead; gone += 1) {
      const row = before[i + gone]
      if (row !== undefined && row === after[j + ahead - gone]) return { gone, come: ahead - gone }
    }
  }
  return undefined
}

/** What is left of both, in whichever order; a row that only moved, also to before this, has not changed. */
function withRest<T>({ gone, come }: ChangedRows<T>, before: readonly T[], after: readonly T[]): ChangedRows<T> {
  if (gone.length + before.length === 0) return { gone, come: come.concat(after) }
  if (come.length + after.length === 0) return { gone: gone.concat(before), come }
  const allGone = new Set([...gone, ...before])
  const allCome = new Set([...come, ...after])
  return {
    gone: [...allGone].filter((row) => !allCome.has(row)),
    come: [...allCome].filter((row) => !allGone.has(row)),
  }
}
