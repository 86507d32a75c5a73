import type { Exit } from '../processes/engine-process.ts'

/** Exit codes of a shell whose program is missing or not executable. */
const NOT_RUN = new Set([126, 127])

/**
 * How an engine ended, for the replica's error. `hasKernelKilled`: whether the kernel has killed a process for lack of
 * memory meanwhile; undefined when unknown.
 */
export function describeExit({ code, signal, lastLines }: Exit, hasKernelKilled?: boolean): string {
  const how = howItEnded(code, signal, hasKernelKilled)
  return lastLines.length === 0 ? `The engine ${how}.` : `The engine ${how}. Its last lines:\n${lastLines.join('\n')}`
}

function howItEnded(code: number | null, signal: string | null, hasKernelKilled: boolean | undefined): string {
  if (signal === 'SIGKILL') {
    const perhaps = ': perhaps the machine ran out of memory, which this system does not tell'
    return `was killed by SIGKILL, and not by Flotilla${hasKernelKilled === undefined ? perhaps : ''}`
  }
  if (signal !== null) return `was killed by ${signal}`
  if (code === null) return 'ended; its exit code is not known, as an earlier run of the worker had started it'
  return NOT_RUN.has(code) ? `could not be started (exit code ${code})` : `exited with code ${code}`
}
