/** How long an idle client may still send a request while the server closes: it does not know, and one may be on its way. */
export const LAST_WORD_MS = 250
/** In steps, so that a machine that stands still for a while uses up only one of them. */
const STEPS = 5

/** Calls `end` after the grace time, when requests that were on their way have been read. */
export function afterLastWord(end: () => unknown): void {
  let left = STEPS
  const step = (): void => {
    left -= 1
    if (left > 0) setTimeout(step, LAST_WORD_MS / STEPS)
    // Bytes that came while this process did not run are read before `end` checks which connections are idle.
    else setImmediate(() => setImmediate(end))
  }
  setTimeout(step, LAST_WORD_MS / STEPS)
}
