import type { HistogramCell } from './histogram-cell.ts'

/** Seconds; from a statement in memory to one that hits its limit. */
export const SHORT_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** Waits for `work` and notes how long it took, whatever became of it. */
export async function timed<T>(cell: (isOk: boolean) => HistogramCell, work: () => Promise<T>): Promise<T> {
  const fromMs = performance.now()
  let isOk = false
  try {
    const result = await work()
    isOk = true
    return result
  } finally {
    cell(isOk).observe((performance.now() - fromMs) / 1000)
  }
}
