import type { z } from 'zod'
import type { measuredMemory } from '../../api/reports.ts'

export type MeasuredMemory = z.infer<typeof measuredMemory> & { loaded: boolean }

/** Less growth is reported with the next regular heartbeat, not at once. */
const WORTH_TELLING = 1.05

/**
 * The most that an engine was seen to hold since this worker watches it; once it has loaded, since then. What it held
 * while loading is neither what it takes in the end nor what the next one takes.
 */
export class PeakMemory {
  #peak: MeasuredMemory | null = null
  #told: MeasuredMemory | null = null

  get value(): MeasuredMemory | null {
    return this.#peak
  }

  /** Adds one look. True when it is worth a heartbeat: the first figure, or one more than 5 % larger. */
  add(look: MeasuredMemory): boolean {
    const hasLoaded = this.#peak?.loaded ?? false
    if (hasLoaded && !look.loaded) return false
    if (look.loaded && !hasLoaded) this.#peak = this.#told = null
    const peak = this.#peak
    const devices = higherOf(peak?.devices ?? null, look.devices)
    this.#peak = { loaded: look.loaded, ram: Math.max(peak?.ram ?? 0, look.ram), devices }
    if (this.#told && !hasGrown(this.#told, this.#peak)) return false
    this.#told = this.#peak
    return true
  }
}

/** Figures that are unknown this time stay as they were. */
function higherOf(before: MeasuredMemory['devices'], now: MeasuredMemory['devices']): MeasuredMemory['devices'] {
  if (before === null || now === null) return before ?? now
  const byIndex = new Map(before.map(({ index, bytes }) => [index, bytes]))
  for (const { index, bytes } of now) byIndex.set(index, Math.max(bytes, byIndex.get(index) ?? 0))
  return [...byIndex].map(([index, bytes]) => ({ index, bytes })).toSorted((a, b) => a.index - b.index)
}

function hasGrown(told: MeasuredMemory, now: MeasuredMemory): boolean {
  if (now.ram > told.ram * WORTH_TELLING) return true
  if (now.devices === null) return false
  if (told.devices === null) return true
  const before = new Map(told.devices.map(({ index, bytes }) => [index, bytes]))
  return now.devices.some(({ index, bytes }) => bytes > (before.get(index) ?? 0) * WORTH_TELLING)
}
