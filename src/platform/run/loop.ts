import type { Clock } from './clock.ts'

export interface LoopOptions {
  /** A turn runs at least this often, so that a lost wake costs time and nothing else. */
  periodMs: number
  /** One turn. It takes no hint of what changed, so every turn is also the recovery path. */
  turn: () => Promise<void>
  clock: Clock
  onError: (error: unknown) => void
}

export interface Loop {
  /** Asks for a turn soon. Any number of wakes during a turn make exactly one more turn. */
  wake(): void
  /** Stops the loop; resolves when a running turn has ended. */
  dispose(): Promise<void>
}

/** Failing turns are repeated after 100 ms, 200 ms, … but no later than the period, so that a broken database is not hammered. */
const FIRST_RETRY_MS = 100

/** Runs `turn` at once, then on every wake and every period. Never two turns at the same time. */
export function startLoop({ periodMs, turn, clock, onError }: LoopOptions): Loop {
  let state: 'idle' | 'running' | 'disposed' = 'idle'
  let woken = false
  let failures = 0
  let cancelTimer = (): void => {}
  let running: Promise<void> = Promise.resolve()

  const run = async (): Promise<void> => {
    cancelTimer()
    state = 'running'
    woken = false
    try {
      await turn()
      failures = 0
    } catch (error) {
      failures += 1
      onError(error)
    }
    if (isDisposed()) return
    state = 'idle'
    const retryMs = Math.min(periodMs, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 20))
    schedule(failures > 0 ? retryMs : woken ? 0 : periodMs)
  }
  const schedule = (delayMs: number): void => {
    cancelTimer()
    cancelTimer = clock.after(delayMs, start)
  }
  const start = (): void => {
    running = run()
  }
  const isDisposed = (): boolean => state === 'disposed'

  schedule(0)
  return {
    wake() {
      if (state === 'disposed') return
      // While a turn fails, the backoff stands: a wake must not turn it into a hot loop.
      if (state === 'idle' && failures === 0 && !woken) schedule(0)
      woken = true
    },
    async dispose() {
      state = 'disposed'
      cancelTimer()
      await running
    },
  }
}
