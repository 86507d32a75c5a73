import { spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { sleep, type Clock } from '../../platform/run/clock.ts'
import { writeShort } from '../../platform/write-whole.ts'
import { watchLiving } from './living-engines.ts'
import { watchdogScript } from './watchdog-script.ts'

export interface Watchdog {
  /** Marks this worker as the owner of the folder's engines. */
  readonly token: string
  /** The pid of its current process; undefined while it could not be started. */
  readonly pid: number | undefined
  /** The worker ends in order and leaves no engine behind. Resolves when the watchdog is gone. */
  done(): Promise<void>
}

export interface WatchdogOptions {
  /** Has a folder for each replica, with the identity of its engine in it. */
  folder: string
  /** How long engines wait for a new worker; 0 ends them as soon as this one is dead. Rounded up to whole seconds. */
  graceMs: number
  clock: Clock
}

const START_AGAIN_MS = 500
const DONE_WITHIN_MS = 2000

/**
 * A small process in its own session. It outlives the worker as long as it takes to end engines that no later worker
 * adopts. Starting it takes over the folder's engines from an earlier worker, whose watchdog then exits: call it before
 * any of them is adopted. If it dies, it is started again.
 *
 * It receives the mark of every engine and keeps them in memory: a deleted folder can no longer name an engine.
 */
export function startWatchdog({ folder, graceMs, clock }: WatchdogOptions): Watchdog {
  const token = randomUUID()
  const isDone = new AbortController()
  let child: ChildProcess
  let forgetLiving = (): void => {}
  const home = resolve(folder)
  own(folder, token)
  const start = (): void => {
    child = spawnWatchdog(home, token, Math.ceil(graceMs / 1000))
    forgetLiving()
    forgetLiving = watchLiving((what, { mark }, of) => {
      if (resolve(of) === home) child.stdin?.write(`${what} ${mark}\n`)
    })
    const again = async (): Promise<void> => {
      await sleep(clock, START_AGAIN_MS, isDone.signal)
      if (!isDone.signal.aborted) start()
    }
    child.once('exit', () => void again())
    child.once('error', () => child.pid === undefined && void again())
  }
  start()
  return {
    token,
    get pid() {
      return child.pid
    },
    async done() {
      isDone.abort()
      forgetLiving()
      await endInOrder(child, clock)
    },
  }
}

/** Atomic: the watchdog of an earlier worker may read the token at this moment. */
function own(folder: string, token: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeShort(join(folder, 'owner'), `${token}\n`)
}

function spawnWatchdog(folder: string, token: string, graceS: number): ChildProcess {
  const child = spawn('/bin/sh', ['-c', watchdogScript, 'flotilla-watchdog', folder, token, String(graceS)], {
    // Only we hold the other end of its input, which closes when we die. It inherits no other descriptor.
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    cwd: '/',
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin' },
  })
  child.stdin?.on('error', () => {})
  // It must not keep alive a worker that has nothing left to do.
  child.unref()
  return child
}

async function endInOrder(child: ChildProcess, clock: Clock): Promise<void> {
  const hasEnded = (): boolean => child.pid === undefined || child.exitCode !== null || child.signalCode !== null
  if (hasEnded()) return
  const ended = new AbortController()
  child.once('exit', () => ended.abort())
  child.stdin?.end('done\n')
  await sleep(clock, DONE_WITHIN_MS, ended.signal)
  if (!hasEnded()) child.kill('SIGKILL')
}
