/**
 * How many threads compute. They wait for each other by spinning, so a thread without a core of its own slows all of
 * them down: on 2 busy cores, 2 threads measured a tenth of the speed of one, and 4, the library's default, a
 * thousandth. One core is left to the rest of the machine, such as this process's event loop and other replicas.
 */
export function chooseThreads(mathCores: number, availableCores: number): number {
  return Math.max(1, Math.min(mathCores, availableCores) - 1)
}
