import { spawn } from 'node:child_process'
import type { Clock } from '../../platform/run/clock.ts'
import { AppError } from '../../platform/errors.ts'

export interface CommandToRun {
  command: readonly string[]
  folder: string
  env: NodeJS.ProcessEnv
  clock: Clock
  signal: AbortSignal
  /** The command printed a line: a sign of life. */
  onLine: (line: string) => void
}

const LIMIT_MS = 60 * 60_000
const KILL_AFTER_MS = 10_000
const LAST_WORDS_MS = 1000
const LAST_LINES = 20
const MOST_LINE_CHARS = 500

/**
 * Runs in front of the command. A watcher in the same process group reads a pipe whose other end only the worker holds:
 * when the worker dies, even by kill -9, the pipe closes and the watcher kills the whole group. The shell then becomes
 * the command, without interpreting its arguments.
 */
const GUARD = '( trap "" TERM INT HUP; read _ <&3; kill -KILL 0 ) >/dev/null 2>&1 & exec "$@" 3<&-'

/**
 * Runs a command in a process group of its own, for at most an hour. Rejects with the command's last lines when it
 * fails; when aborted, after every process of it has ended.
 */
export async function runCommand({ command, folder, env, clock, signal, onLine }: CommandToRun): Promise<void> {
  signal.throwIfAborted()
  const child = spawn('/bin/sh', ['-c', GUARD, 'sh', ...command], {
    cwd: folder,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  child.stdio[3]?.on('error', () => {})
  const lastLines: string[] = []
  const hear = (line: string): void => {
    lastLines.push(line)
    if (lastLines.length > LAST_LINES) lastLines.shift()
    onLine(line)
  }
  for (const stream of [child.stdout, child.stderr]) if (stream) eachLine(stream, hear)
  const signalGroup = (name: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, name)
    } catch {
      // ESRCH: every process of it has ended.
    }
  }
  const cancels: (() => void)[] = []
  const end = (): void => {
    signalGroup('SIGTERM')
    cancels.push(clock.after(KILL_AFTER_MS, () => signalGroup('SIGKILL')))
  }
  let isLate = false
  const late = (): void => {
    isLate = true
    end()
  }
  cancels.push(clock.after(LIMIT_MS, late))
  signal.addEventListener('abort', end, { once: true })
  const outcome = await new Promise<Outcome>((resolve) => {
    let ended: Outcome = { code: null, signal: null }
    child.once('error', (error) => resolve({ code: null, signal: null, error: error.message }))
    child.once('exit', (code, name) => {
      ended = { code, signal: name }
      // Ends the watcher, and any process that the command left behind.
      signalGroup('SIGKILL')
      // A process that left the group may hold our pipes open for ever.
      cancels.push(clock.after(LAST_WORDS_MS, () => resolve(ended)))
    })
    child.once('close', () => resolve(ended))
  })
  signal.removeEventListener('abort', end)
  for (const cancel of cancels) cancel()
  for (const stream of child.stdio) stream?.destroy()
  signal.throwIfAborted()
  if (isLate) throw failure(command, 'did not end within an hour', lastLines)
  if (outcome.code !== 0) throw failure(command, describe(outcome), lastLines)
}

interface Outcome {
  code: number | null
  signal: NodeJS.Signals | null
  error?: string
}

function describe({ code, signal, error }: Outcome): string {
  if (error !== undefined) return `could not be started: ${error}`
  return signal === null ? `ended with code ${code}` : `was killed by ${signal}`
}

function failure([program]: readonly string[], how: string, lastLines: readonly string[]): AppError {
  const lines = lastLines.length === 0 ? 'It printed nothing.' : `Its last lines:\n${lastLines.join('\n')}`
  return new AppError('internal', `The command "${program}" ${how}. ${lines}`)
}

function eachLine(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    // A program that never ends its line must not fill our memory.
    rest = lines.pop()!.slice(0, MOST_LINE_CHARS)
    for (const line of lines) onLine(line.slice(0, MOST_LINE_CHARS))
  })
  stream.on('end', () => rest && onLine(rest))
}
