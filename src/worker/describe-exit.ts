import type { Exit } from './processes/engine-process.ts'

/** What shells say of a program that is not there, or is no program. */
const NOT_RUN = new Set([126, 127])

/** What is known of how an engine ended, for the replica's error. */
export function describeExit({ code, signal, lastLines }: Exit): string {
  const how = howItEnded(code, signal)
  return lastLines.length === 0 ? `The engine ${how}.` : `The engine ${how}. Its last lines:\n${lastLines.join('\n')}`
}

function howItEnded(code: number | null, signal: string | null): string {
  if (signal === 'SIGKILL') return 'was killed by SIGKILL, and not by Flotilla: perhaps the machine ran out of memory'
  if (signal !== null) return `was killed by ${signal}`
  if (code === null) return 'ended; its exit code is not known, as an earlier run of the worker had started it'
  return NOT_RUN.has(code) ? `could not be started (exit code ${code})` : `exited with code ${code}`
}
