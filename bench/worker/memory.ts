/** Answers each message with what the process holds, garbage aside. */
export function answerMemory(): void {
  process.on('message', () => {
    void (async () => {
      // Twice: what finalisers let go of in the first is collected in the second.
      for (let i = 0; i < 2; i += 1) {
        globalThis.gc?.()
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      process.send?.({ rssBytes: process.memoryUsage.rss() })
    })()
  })
}
