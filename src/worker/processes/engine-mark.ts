import { execFile, execFileSync } from 'node:child_process'
import { promisify } from 'node:util'
import { hasProc } from './process-look.ts'

/** Every process of an engine has it in its environment, with a value that no other engine has. */
export const MARK_VARIABLE = 'FLOTILLA_ENGINE'

/**
 * Which of these processes carry the mark in the environment they were started with. A program that writes its title over
 * that place loses it, and so does one that is started with an empty environment: they are found by group and session.
 *
 * Read by `grep` and not by ourselves: of a process that hangs in a driver the environment cannot be read, and who tries
 * hangs as well.
 */
export async function findMarked(pids: readonly number[], mark: string): Promise<number[]> {
  if (!hasProc || pids.length === 0) return []
  const { stdout } = await promisify(execFile)('grep', search(pids, [mark]), LIMITS).catch(asFound)
  return parse(stdout)
}

/** For the last moment of this process, in which nothing can be waited for. */
export function findMarkedNow(pids: readonly number[], marks: readonly string[]): number[] {
  if (!hasProc || pids.length === 0) return []
  try {
    return parse(execFileSync('grep', search(pids, marks), { ...LIMITS, stdio: ['ignore', 'pipe', 'ignore'] }))
  } catch (error) {
    return parse(asFound(error).stdout)
  }
}

const LIMITS = { encoding: 'utf8', timeout: 2000, killSignal: 'SIGKILL', maxBuffer: 1024 * 1024 } as const

/** File names only, no complaints about processes that have ended meanwhile, and no patterns. */
function search(pids: readonly number[], marks: readonly string[]): string[] {
  return [
    '-lsF',
    ...marks.flatMap((mark) => ['-e', `${MARK_VARIABLE}=${mark}`]),
    ...pids.map((pid) => `/proc/${pid}/environ`),
  ]
}

/** It also counts as a failure that one of the files could not be read, or that nothing was found. */
function asFound(error: unknown): { stdout: string } {
  return { stdout: (error as { stdout?: string }).stdout ?? '' }
}

function parse(stdout: string): number[] {
  return [...stdout.matchAll(/^\/proc\/(\d+)\/environ$/gm)].map((match) => Number(match[1]))
}
