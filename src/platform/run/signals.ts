/** npm passes on a Ctrl-C that the terminal has sent to all of its processes already: one press comes twice. */
const SAME_PRESS_MS = 100

/**
 * Resolves at the first signal that asks the process to end. A second one ends it at once: somebody is in a hurry. So does
 * the end of the npm that has started us (`orphaned`, from scripts/lib/npm-parent.js), which hurries nobody.
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
