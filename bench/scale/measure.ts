/** Processor time in milliseconds, of the garbage collector's and the store's threads as well: others use the machine, too. */
export async function cpuMs(act: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await act()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** The least of several runs, `between` which things may be put back. */
export async function leastCpuMs(
  act: () => unknown,
  { runs = 5, between = (): unknown => undefined } = {},
): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < runs; i += 1) {
    least = Math.min(least, await cpuMs(act))
    await between()
  }
  return least
}

/** What is held in memory, in MB, after everything that nobody holds is gone. */
export function heapMb(): number {
  // Given by --expose-gc.
  const { gc } = globalThis as { gc?: () => void }
  gc?.()
  gc?.()
  return process.memoryUsage().heapUsed / 1e6
}
