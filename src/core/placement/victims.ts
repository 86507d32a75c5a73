/** How many more combinations may be tried. */
export interface Tries {
  left: number
}

/** Beyond so many candidates only the cheap way is taken: there are too many combinations. */
const MOST_COMBINED = 16

/**
 * The fewest candidates that must go, and among those sets the one of the least regret; at most `most` of them. Undefined
 * when even all of them are not enough. Candidates come by regret, least first, and more of them never make it worse.
 * When the tries run out, none of those found can be spared either, but another set might have been smaller.
 */
export function fewestOf<T>(
  candidates: readonly T[],
  regretOf: (candidate: T) => number,
  isEnough: (gone: readonly T[]) => boolean,
  most: number,
  tries: Tries,
): T[] | undefined {
  if (!isEnough(candidates)) return undefined
  if (candidates.length <= MOST_COMBINED) {
    for (let count = 1; count < candidates.length && tries.left > 0; count += 1) {
      if (count > most) return undefined
      const found = leastRegretted(candidates, count, regretOf, isEnough, tries)
      if (found) return found
    }
  }
  return spared(candidates, isEnough)
}

/** Of all sets of that size that are enough. */
function leastRegretted<T>(
  candidates: readonly T[],
  count: number,
  regretOf: (candidate: T) => number,
  isEnough: (gone: readonly T[]) => boolean,
  tries: Tries,
): T[] | undefined {
  let best: T[] | undefined
  let least = Infinity
  const chosen: T[] = []
  choose(0, 0)
  return best

  function choose(from: number, regret: number): void {
    if (chosen.length === count) {
      if (!isEnough(chosen)) return
      best = [...chosen]
      least = regret
      return
    }
    for (let i = from; i <= candidates.length - (count - chosen.length) && tries.left > 0; i += 1) {
      const more = regret + regretOf(candidates[i]!)
      // The candidates come by regret, so every one after this is no better.
      if (more >= least) return
      chosen.push(candidates[i]!)
      choose(i + 1, more)
      chosen.pop()
    }
  }
}

/** All, less those that can be spared, the most regretted first. */
function spared<T>(candidates: readonly T[], isEnough: (gone: readonly T[]) => boolean): T[] {
  let needed = [...candidates]
  for (const one of candidates.toReversed()) {
    const others = needed.filter((other) => other !== one)
    if (others.length > 0 && isEnough(others)) needed = others
  }
  return needed
}
