import { execFileSync, spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { accessSync, constants, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const children: ChildProcess[] = []
const CORES = availableParallelism()
/** Proxies have the last core to themselves, one at a time; all else shares the others. */
export const isPinned = CORES > 1 && isInstalled('taskset')
export const PROXY_CORE = String(CORES - 1)

/** What is started from here on keeps off the proxies' core, unless it is one. */
export function leaveProxyCore(): void {
  if (isPinned) execFileSync('taskset', ['-apc', `0-${CORES - 2}`, String(process.pid)], { stdio: 'ignore' })
}

export interface Child {
  pid: number
  /** What it said first: that it is ready, and where. */
  ready: unknown
  /** Sends a message and waits for the answer; rejects when the process ends instead. */
  ask: (message: object) => Promise<unknown>
}

/** One of the files here as a process. */
export async function startFile(file: string, args: string[], cores?: string): Promise<Child> {
  const path = fileURLToPath(new URL(file, import.meta.url))
  // As the processes of a gateway have it, and so that memory can be measured without garbage.
  const speed = ['--max-semi-space-size=16', '--no-parallel-scavenge']
  const flags = ['--disable-warning=ExperimentalWarning', ...speed, '--expose-gc']
  const child = launch(process.execPath, [...flags, path, ...args], { cores, hasChannel: true })
  let heard = Promise.withResolvers<unknown>()
  child.on('message', (message) => heard.resolve(message))
  child.on('exit', (code) => heard.reject(new Error(`${file} ended with ${code} in the middle of the bench`)))
  const ready = await heard.promise
  const ask = (message: object): Promise<unknown> => {
    heard = Promise.withResolvers<unknown>()
    child.send(message)
    return heard.promise
  }
  return { pid: child.pid!, ready, ask }
}

interface LaunchOptions {
  /** Those that it may use, as taskset writes them; without, those that this process may use. */
  cores: string | undefined
  hasChannel?: boolean
  env?: Readonly<Record<string, string>>
  /** What it complains about is not shown. */
  isQuiet?: boolean
}

export function launch(
  program: string,
  args: string[],
  { cores, hasChannel, env, isQuiet }: LaunchOptions,
): ChildProcess {
  const [first, ...rest] = onCores(cores, program, args)
  const stdio: StdioOptions = ['ignore', hasChannel ? 'inherit' : 'ignore', isQuiet ? 'ignore' : 'inherit']
  if (hasChannel) stdio.push('ipc')
  const child = spawn(first, rest, { stdio, env: { ...process.env, ...env } })
  children.push(child)
  return child
}

/** The command that runs a program there and nowhere else, where that can be had. */
export function onCores(cores: string | undefined, program: string, args: readonly string[]): [string, ...string[]] {
  return cores !== undefined && isPinned ? ['taskset', '-c', cores, program, ...args] : [program, ...args]
}

export function endChildren(): void {
  for (const child of children) child.kill('SIGKILL')
}

export function isInstalled(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** What the scheduler counts in, on every Linux there is. */
const TICKS_PER_S = 100

/** Processor time that these processes have used, theirs and the system's for them; undefined where Linux does not tell. */
export function cpuMs(pids: readonly number[]): number | undefined {
  let ticks = 0
  for (const pid of pids) {
    try {
      // Behind the name, which may hold anything: user time is the 12th field from there, system time the 13th.
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')
      ticks += Number(fields[11]) + Number(fields[12])
    } catch {
      return undefined
    }
  }
  return (ticks * 1000) / TICKS_PER_S
}

/** Resident memory of any process, as Linux tells it; undefined elsewhere. */
export function residentBytes(pid: number): number | undefined {
  try {
    const kibibytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1024
  } catch {
    return undefined
  }
}
