import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { AppError, messageOf } from '../../platform/errors.ts'

/** What each engine may take of the machine. */
export interface ConfinementOptions {
  /** `user` or `user:group`, by name. */
  user: string | undefined
  limits: { memoryBytes?: number; files?: number; processes?: number; nice?: number }
  /** The data folder: only what an engine needs in it is made readable for its group. */
  root: string
}

/** Starts engines with fewer rights than the worker. */
export interface Confinement {
  /**
   * Wraps the command in programs that give up rights, set limits, and then become the engine: the process stays the
   * same.
   */
  argv(argv: readonly string[]): string[]
  /** Gives the engine access to its own folder, its program, and the model's files with their siblings. */
  admit(scratch: string, program: string, models: readonly string[]): void
}

export const unconfined: Confinement = { argv: (argv) => [...argv], admit() {} }

/** Throws when it is not possible on this machine: an engine is never started with more rights than configured. */
export function openConfinement({ user, limits, root }: ConfinementOptions): Confinement {
  const bounds = boundsOf(limits)
  if (user === undefined && bounds.length === 0 && limits.nice === undefined) return unconfined
  if (process.platform !== 'linux') throw new AppError('usage', 'engine_user and engine_limits need Linux.')
  const who = user === undefined ? undefined : identityOf(user)
  const prefix = [
    ...(limits.nice === undefined ? [] : ['nice', '-n', String(limits.nice)]),
    ...(bounds.length === 0 ? [] : ['prlimit', ...bounds, '--']),
    // The user keeps its usual groups, among them those that may use GPUs. The process cannot regain any right.
    ...(who ? ['setpriv', `--reuid=${who.uid}`, `--regid=${who.gid}`, '--init-groups', '--no-new-privs', '--'] : []),
  ]
  for (const tool of ['nice', 'prlimit', 'setpriv']) if (prefix.includes(tool)) checkTool(tool)
  return {
    argv: (argv) => [...prefix, ...argv],
    admit(scratch, program, models) {
      if (!who) return
      openWay(root, dirname(scratch), who.gid)
      chownSync(scratch, who.uid, who.gid)
      for (const path of new Set([program, realPath(program)])) openWay(root, dirname(path), who.gid)
      for (const model of models) grant(root, model, who.gid)
    },
  }
}

/** The memory limit covers memory it may write to: GPU programs map far more addresses than they use. */
function boundsOf({ memoryBytes, files, processes }: ConfinementOptions['limits']): string[] {
  return [
    ...(memoryBytes === undefined ? [] : [`--data=${memoryBytes}`]),
    ...(files === undefined ? [] : [`--nofile=${files}`]),
    ...(processes === undefined ? [] : [`--nproc=${processes}`]),
  ]
}

function identityOf(user: string): { uid: number; gid: number } {
  const [name = '', group] = user.split(':')
  if (process.getuid?.() !== 0) {
    throw new AppError('usage', `engine_user: only a worker that runs as root can start engines as ${name}.`)
  }
  const uid = ask('id', ['-u', '--', name], `there is no user "${name}"`)
  const gid =
    group === undefined
      ? ask('id', ['-g', '--', name], `there is no user "${name}"`)
      : ask('getent', ['group', group], `there is no group "${group}"`, (line) => line.split(':')[2] ?? '')
  if (uid === 0) throw new AppError('usage', 'engine_user: engines as root have no less than the worker itself.')
  return { uid, gid }
}

function ask(program: string, args: string[], problem: string, pick = (text: string) => text): number {
  try {
    const text = execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], timeout: 10_000 })
    const number = pick(text.trim())
    if (/^\d{1,10}$/.test(number)) return Number(number)
  } catch {
    // It ends with an error when there is no such entry.
  }
  throw new AppError('usage', `engine_user: ${problem} on this machine.`)
}

function checkTool(tool: string): void {
  try {
    execFileSync(tool, ['--version'], { stdio: 'ignore', timeout: 10_000 })
  } catch (error) {
    throw new AppError('usage', `engine_user and engine_limits need the program ${tool}: ${messageOf(error)}.`)
  }
}

/** All parts of a model in the data folder. For files elsewhere, their owner sets the permissions. */
function grant(root: string, path: string, gid: number): void {
  if (!isBelow(root, path)) return
  const folder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ? path : dirname(path)
  openWay(root, dirname(folder), gid)
  openToRead(root, folder, gid, 0)
}

/** Makes the folders on the way traversable, not listable. */
function openWay(root: string, folder: string, gid: number): void {
  if (!isBelow(root, folder)) return
  openWay(root, dirname(folder), gid)
  allow(folder, gid, 0o010)
}

const MOST_DEPTH = 32

function openToRead(root: string, path: string, gid: number, depth: number): void {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (!stat || depth > MOST_DEPTH) return
  if (stat.isSymbolicLink()) {
    const real = realPath(path)
    if (real === path || !isBelow(root, real)) return
    openWay(root, dirname(real), gid)
    return openToRead(root, real, gid, depth + 1)
  }
  if (!stat.isDirectory()) return allow(path, gid, 0o040 | ((stat.mode & 0o100) >> 3))
  allow(path, gid, 0o050)
  for (const name of readdirSync(path)) openToRead(root, join(path, name), gid, depth + 1)
}

function allow(path: string, gid: number, bits: number): void {
  const { mode, gid: now } = statSync(path)
  if (now !== gid) chownSync(path, -1, gid)
  if ((mode & bits) !== bits || now !== gid) chmodSync(path, (mode & 0o707) | bits)
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

function isBelow(root: string, path: string): boolean {
  const way = relative(root, path)
  return way === '' || !(way === '..' || way.startsWith('../') || way.startsWith('/'))
}
