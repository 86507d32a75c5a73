import { onTestFinished } from 'vitest'
import type { Terminal } from '../../../src/cli/terminal/terminal.ts'
import type { Clock } from '../../../src/platform/run/clock.ts'
import { runCommand, type Said } from './cli-command.ts'

/** A command that goes on until Ctrl-C: what it has said so far, and its end. */
export interface RunningCommand {
  said: Said
  interrupt(): void
  ended: Promise<Said>
}

export function startCommand(args: readonly string[], terminal: Partial<Terminal> = {}): RunningCommand {
  const interrupted = new AbortController()
  const { said, ended } = runCommand(args, {
    clock: quick,
    terminal: { interrupted: () => interrupted.signal, ...terminal },
  })
  onTestFinished(async () => {
    interrupted.abort()
    await ended.catch(() => {})
  })
  return { said, interrupt: () => interrupted.abort(), ended }
}

/** A clock on which every wait is short. */
const quick: Clock = {
  nowMs: () => Date.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(delayMs, 5))
    return () => clearTimeout(timer)
  },
}
