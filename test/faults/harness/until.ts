const LOOK_EVERY_MS = 50

/** Waits for something to become true; what cannot be asked now is not true now. Says what it waited for when it gives up. */
export async function until(isSo: () => Promise<boolean> | boolean, limitMs: number, what: string): Promise<void> {
  const giveUpMs = performance.now() + limitMs
  for (;;) {
    let problem: unknown
    try {
      if (await isSo()) return
    } catch (error) {
      problem = error
    }
    if (performance.now() > giveUpMs) throw new Error(`Not so within ${limitMs / 1000} s: ${what}`, { cause: problem })
    await pause(LOOK_EVERY_MS)
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
