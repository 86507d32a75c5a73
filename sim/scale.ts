/** How large a run is. */
export interface Scale {
  nodes: number
  models: number
  /** Of virtual time with faults; the quiet time comes on top. */
  minutes: number
}

export const defaultScale: Scale = { nodes: 10, models: 6, minutes: 30 }

/** Every engine dies one day, and each run has its own chance of a start to fail. */
export const MEAN_LIFE_MS = 20 * 60_000
export const FAILURE_CHANCES = [0, 0.1, 0.5]
export const PERFECT_ENGINES = { failureChance: 0, meanLifeMs: Infinity, isHonest: true }

/** Long enough for the last fault to end, silence to be judged, waits to pass, models to load, and idle ones to go. */
export const QUIET_MS = 10 * 60_000
