import { spawn, type ChildProcess } from 'node:child_process'
import { sleep, type Clock } from '../platform/clock.ts'
import { get } from '../platform/node-http.ts'

export interface EngineProcess {
  readonly pid: number
  /** Resolves when the process has ended, however it ended. Never rejects. */
  readonly exited: Promise<Exit>
  /** SIGTERM, then SIGKILL after `killAfterMs`; to the whole process group. Resolves when it is gone. */
  stop(killAfterMs: number): Promise<Exit>
}

export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
  lastLines: string[]
}

const LAST_LINES = 20
const MOST_LINE_CHARS = 2000

/** Starts an engine in a process group of its own, so that what it starts itself ends with it. */
export function startEngineProcess(
  command: readonly string[],
  clock: Clock,
  onLine: (line: string) => void,
): EngineProcess {
  const [program, ...args] = command
  // stdin stays open for as long as we live: its end tells the engine that its worker died.
  const child = spawn(program!, args, { stdio: ['pipe', 'pipe', 'pipe'], detached: true })
  child.stdin.on('error', () => {})
  const lastLines: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    eachLine(stream, (line) => {
      lastLines.push(line)
      if (lastLines.length > LAST_LINES) lastLines.shift()
      onLine(line)
    })
  }
  let ended = false
  living.add(child)
  const exited = new Promise<Exit>((resolve) => {
    child.once('error', (error) => {
      lastLines.push(error.message)
      if (child.pid !== undefined) return
      living.delete(child)
      resolve({ code: null, signal: null, lastLines })
    })
    child.once('exit', () => {
      // What the engine left behind in its group goes with it. Later the group's number may belong to somebody else.
      signalGroup(child, 'SIGKILL')
      ended = true
      living.delete(child)
    })
    // Resolved at `close` and not at `exit`: by then the last lines have been read.
    child.once('close', (code, signal) => resolve({ code, signal, lastLines }))
  })
  return {
    pid: child.pid ?? -1,
    exited,
    async stop(killAfterMs) {
      if (!ended) signalGroup(child, 'SIGTERM')
      const cancel = clock.after(killAfterMs, () => !ended && signalGroup(child, 'SIGKILL'))
      const exit = await exited
      cancel()
      return exit
    },
  }
}

const living = new Set<ChildProcess>()

// However this process ends, short of kill -9, no engine outlives it.
process.on('exit', () => {
  for (const child of living) signalGroup(child, 'SIGKILL')
})

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, signal)
  } catch {
    // ESRCH: the group has ended already.
  }
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

const READY_POLL_MS = 25
const PROBE_TIMEOUT_MS = 2000

/** True when the engine answers 200 on its readiness path; false when aborted first. */
export async function waitUntilReady(port: number, path: string, clock: Clock, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    if (await answersOk(port, path)) return !signal.aborted
    await sleep(clock, READY_POLL_MS, signal)
  }
  return false
}

function answersOk(port: number, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = get({ host: '127.0.0.1', port, path, agent: false, timeout: PROBE_TIMEOUT_MS }, (answer) => {
      answer.resume()
      resolve(answer.statusCode === 200)
    })
    probe.once('timeout', () => probe.destroy())
    probe.once('error', () => resolve(false))
  })
}

/** One sentence about how an engine ended, for the replica's error. */
export function describeExit({ code, signal, lastLines }: Exit): string {
  const how = signal ? `was killed by ${signal}` : code === null ? 'could not be started' : `exited with code ${code}`
  return lastLines.length === 0 ? `The engine ${how}.` : `The engine ${how}. Its last lines:\n${lastLines.join('\n')}`
}
