/** On Ctrl-C the terminal signals all processes, and npm forwards the signal once more: one press arrives twice. */
const SAME_PRESS_MS = 100

/**
 * Resolves at the first signal that asks the process to end; a second one ends it at once. The end of the npm that
 * started us (`orphaned`, from scripts/lib/npm-parent.js) resolves as well, but never ends the process at once.
 */
export function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked: { signal: NodeJS.Signals; atMs: number } | undefined
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        const isSamePress =
          signal === 'SIGINT' && asked?.signal === signal && performance.now() - asked.atMs < SAME_PRESS_MS
        if (isSamePress) return
        // 128 + the signal's number is what shells expect.
        if (asked) process.exit(130)
        asked = { signal, atMs: performance.now() }
        resolve(signal)
      })
    }
    ;(process as NodeJS.EventEmitter).on('orphaned', () => {
      asked ??= { signal: 'SIGTERM', atMs: 0 }
      resolve('SIGTERM')
    })
  })
}
