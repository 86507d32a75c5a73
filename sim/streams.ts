import { Random } from './random.ts'

/**
 * Chance for one purpose. Each fault has a stream of its own, by its ordinal, so that to leave one out changes nothing of
 * what the others are.
 */
export function streamOf(seed: number, purpose: string): Random {
  let hash = seed | 0
  for (let i = 0; i < purpose.length; i += 1) hash = (Math.imul(hash ^ purpose.charCodeAt(i), 0x01000193) + 0x9e37) | 0
  return new Random(hash)
}
