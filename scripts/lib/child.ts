import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'
import os from 'node:os'
import { root } from './root.ts'

/** How long a stopped child may take before it is killed. */
const stopWithinMs = 5000

export interface Ended {
  /** The exit code; 128 + n when signal n ended it, as in a shell; 127 when it could not be started. */
  code: number
  /** What it printed, if it was not told to print to the terminal. */
  output: string
}

const running = new Set<ChildProcess>()
let stoppedBy: NodeJS.Signals | undefined

/** Runs a program to its end, from the repository's folder. It never outlives us: our signals stop it. */
export function runChild(command: string, args: readonly string[], options: SpawnOptions = {}): Promise<Ended> {
  stopWithUs()
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], ...options })
  running.add(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  return new Promise((resolve) => {
    const end = (code: number): void => {
      running.delete(child)
      if (stoppedBy === undefined) resolve({ code, output })
      // Whoever waits for this child must not go on to the next one.
      else if (running.size === 0) process.exit(signalCode(stoppedBy))
    }
    child.on('error', (error) => {
      output += `${command}: ${error.message}\n`
      end(127)
    })
    child.on('close', (code, signal) => end(code ?? signalCode(signal)))
  })
}

let isListening = false

function stopWithUs(): void {
  if (isListening) return
  isListening = true
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stopAll)
}

function stopAll(signal: NodeJS.Signals): void {
  // Ctrl-C twice: no more patience.
  const isSecond = stoppedBy !== undefined
  stoppedBy = signal
  if (running.size === 0) process.exit(signalCode(signal))
  for (const child of running) child.kill(isSecond ? 'SIGKILL' : 'SIGTERM')
  setTimeout(() => running.forEach((child) => child.kill('SIGKILL')), stopWithinMs).unref()
}

function signalCode(signal: NodeJS.Signals | null): number {
  return signal ? 128 + os.constants.signals[signal] : 1
}
