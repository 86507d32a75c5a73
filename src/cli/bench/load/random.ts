/** Numbers from 0 up to, but never, 1. */
export type Random = () => number

/** Chance from a seed, the same on every machine (mulberry32). Each purpose has a stream of its own, so that one does not shift another. */
export function seededRandom(seed: number, purpose: string): Random {
  let state = seed | 0
  for (const letter of purpose) state = Math.imul(state ^ letter.codePointAt(0)!, 0x01000193)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Both ends included; `least` and `most` are whole numbers. */
export interface Range {
  least: number
  most: number
}

/** Any number of the range, each as likely as another. */
export function within({ least, most }: Range, random: Random): number {
  return least + Math.floor(random() * (most - least + 1))
}
