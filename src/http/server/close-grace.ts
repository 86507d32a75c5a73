/** Who is idle when we close may still ask for something for so long: nobody has told it not to, and it may be on its way. */
export const LAST_WORD_MS = 250
/** A machine that stands still for a while uses up one of them, not all. */
const STEPS = 5

/** Calls `end` when whoever might still have asked for something would have been heard. */
export function afterLastWord(end: () => unknown): void {
  let left = STEPS
  const step = (): void => {
    left -= 1
    if (left > 0) setTimeout(step, LAST_WORD_MS / STEPS)
    // What came while this process did not run is read before it is looked who is idle.
    else setImmediate(() => setImmediate(end))
  }
  setTimeout(step, LAST_WORD_MS / STEPS)
}
