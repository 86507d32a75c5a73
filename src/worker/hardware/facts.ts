import type { Clock } from '../../platform/run/clock.ts'

/** Cached facts that hardly ever change, such as names and lists of cards. Free memory is never among them. */
export interface Facts {
  /** The cached fact, or else what `load` finds; null (not found) is not cached. */
  get<T>(key: string, load: () => Promise<T | null>): Promise<T | null>
}

/** Long enough to cost nothing, short enough that a card that is added while we run soon shows up. */
const KNOWN_FOR_MS = 10 * 60_000
const MOST_FACTS = 256

export function createFacts(clock: Clock): Facts {
  const known = new Map<string, { value: unknown; untilMs: number }>()
  return {
    async get<T>(key: string, load: () => Promise<T | null>) {
      const fact = known.get(key)
      if (fact && clock.nowMs() < fact.untilMs) return fact.value as T
      const value = await load()
      known.delete(key)
      if (known.size >= MOST_FACTS) known.clear()
      if (value !== null) known.set(key, { value, untilMs: clock.nowMs() + KNOWN_FOR_MS })
      return value
    },
  }
}
