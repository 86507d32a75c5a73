import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { promisify } from 'node:util'
import { hasProc } from './process-look.ts'

/** Every process of an engine has it in its environment; the value is unique to the engine. */
export const MARK_VARIABLE = 'FLOTILLA_ENGINE'

/** The second variable of every engine process: the worker it belongs to, by `workerMark`. */
export const WORKER_VARIABLE = 'FLOTILLA_ENGINE_OF'

/** The same for every run of one worker, and different for other workers: one key in two folders is two workers. */
export function workerMark(publicKey: string, folder: string): string {
  return createHash('sha256')
    .update(`${publicKey}\n${realpathSync(folder)}`)
    .digest('hex')
    .slice(0, 32)
}

/** The marks of all living engines of this worker. Needs /proc; elsewhere the list is empty. */
export async function marksOf(pids: readonly number[], worker: string): Promise<string[]> {
  if (!hasProc || pids.length === 0) return []
  const files = (await grepFiles(pids, [`${WORKER_VARIABLE}=${worker}`])).map((pid) => `/proc/${pid}/environ`)
  if (files.length === 0) return []
  const { stdout } = await promisify(execFile)('grep', ['-zhs', `^${MARK_VARIABLE}=`, ...files], LIMITS).catch(asFound)
  const marks = stdout.split('\0').map((text) => text.slice(MARK_VARIABLE.length + 1))
  return [...new Set(marks.filter((mark) => /^[0-9a-f]{32}$/.test(mark)))]
}

/**
 * Which of these processes carry the mark in the environment they were started with. A program that overwrites that
 * memory with its title loses it, and so does one started with an empty environment: those are found by group and
 * session.
 *
 * `grep` reads the environments, in a process of its own: a read of the environment of a process that hangs in a driver
 * hangs as well.
 */
export async function findMarked(pids: readonly number[], mark: string): Promise<number[]> {
  if (!hasProc || pids.length === 0) return []
  return grepFiles(pids, [`${MARK_VARIABLE}=${mark}`])
}

async function grepFiles(pids: readonly number[], texts: readonly string[]): Promise<number[]> {
  const { stdout } = await promisify(execFile)('grep', search(pids, texts), LIMITS).catch(asFound)
  return parse(stdout)
}

/** For the last moment of this process, when it cannot await anything. */
export function findMarkedNow(pids: readonly number[], marks: readonly string[]): number[] {
  if (!hasProc || pids.length === 0) return []
  try {
    return parse(
      execFileSync(
        'grep',
        search(
          pids,
          marks.map((mark) => `${MARK_VARIABLE}=${mark}`),
        ),
        { ...LIMITS, stdio: ['ignore', 'pipe', 'ignore'] },
      ),
    )
  } catch (error) {
    return parse(asFound(error).stdout)
  }
}

const LIMITS = { encoding: 'utf8', timeout: 2000, killSignal: 'SIGKILL', maxBuffer: 1024 * 1024 } as const

/** File names only, no complaints about processes that have ended meanwhile, and no patterns. */
function search(pids: readonly number[], texts: readonly string[]): string[] {
  return ['-lsF', ...texts.flatMap((text) => ['-e', text]), ...pids.map((pid) => `/proc/${pid}/environ`)]
}

/** grep also fails when a file could not be read, or when there is no match. */
function asFound(error: unknown): { stdout: string } {
  return { stdout: (error as { stdout?: string }).stdout ?? '' }
}

function parse(stdout: string): number[] {
  return [...stdout.matchAll(/^\/proc\/(\d+)\/environ$/gm)].map((match) => Number(match[1]))
}
