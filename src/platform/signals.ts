/** Resolves at the first signal that asks the process to end. A second one ends it at once: somebody is in a hurry. */
export function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked = false
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        // 128 + the signal's number is what shells expect.
        if (asked) process.exit(130)
        asked = true
        resolve(signal)
      })
    }
  })
}
