import { fstatSync, writeSync } from './builtins.ts'

/** How long running requests may take to finish after SIGTERM. */
const DRAIN_MS = 30_000

/** At SIGTERM running requests may finish; a second signal, or the time limit, ends the process at once. */
export function stopOnSignals(drain: () => Promise<void>, log: (line: string) => void): void {
  let stopping = false
  const stop = (): void => {
    if (stopping) process.exit(1)
    stopping = true
    log('stopping: running requests may finish')
    setTimeout(() => process.exit(0), DRAIN_MS)
    void drain().then(() => process.exit(0))
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}

/**
 * A worker holds the other end of our stdin; when it ends, however suddenly, the pipe closes. /dev/null and terminals
 * do not signal anything.
 */
export function exitWithParent(): void {
  const stdin = fstatSync(0)
  if (!stdin.isFIFO() && !stdin.isSocket()) return
  process.stdin.on('error', () => process.exit(0))
  process.stdin.on('end', () => process.exit(0))
  process.stdin.resume()
}

/**
 * Direct writes: the stream objects behind console cost memory, and a log reader that goes away must not end the
 * engine.
 */
export function say(fd: 1 | 2, text: string): void {
  try {
    writeSync(fd, text)
  } catch {
    // The log has no reader any more.
  }
}
