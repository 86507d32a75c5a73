import { execFile } from 'node:child_process'
import { closeSync, constants, fstatSync, mkdirSync, openSync, readlinkSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { AppError, messageOf } from '../../platform/errors.ts'

/**
 * An engine writes its lines into two named pipes in the replica's folder, so that they outlive the worker: the engine
 * itself holds both ends of them. Without a worker the kernel keeps 64 KiB of lines, then the engine blocks until the
 * next worker reads; that delays no request, because without a worker none arrives. Lines still in the pipes when the
 * engine ends without a worker are lost.
 */
export const streams = ['stdout', 'stderr'] as const
export type Stream = (typeof streams)[number]

/** Always makes new pipes: a process that an earlier engine left behind may still hold the old ones. */
export async function makePipes(folder: string): Promise<void> {
  const paths = streams.map((stream) => join(folder, stream))
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    for (const path of paths) rmSync(path, { recursive: true, force: true })
    await promisify(execFile)('mkfifo', ['-m', '600', ...paths])
  } catch (error) {
    const reason = ((error as { stderr?: string }).stderr ?? '').trim() || messageOf(error)
    const hint = 'The data folder must be writable and on a file system with named pipes, and mkfifo be installed.'
    throw new AppError('unavailable', `Cannot make the pipes for an engine's log in ${folder}: ${reason}. ${hint}`, {
      cause: error,
    })
  }
}

/**
 * Opens both ends for the engine (reading, too, so that its pipe always has a reader), then the reading ends for us. In
 * the other order ours would see the end of a pipe that has no writer yet.
 */
export function openPipes(folder: string): { forEngine: number[]; forUs: number[] } {
  const opened: number[] = []
  const open = (stream: Stream, flags: number): number => {
    const fd = openSync(join(folder, stream), flags)
    opened.push(fd)
    return fd
  }
  try {
    const forEngine = streams.map((stream) => open(stream, constants.O_RDWR))
    return { forEngine, forUs: streams.map((stream) => open(stream, READ)) }
  } catch (error) {
    closeAll(opened)
    throw error
  }
}

export function closeAll(fds: readonly number[]): void {
  for (const fd of fds) closeSync(fd)
}

const READ = constants.O_RDONLY | constants.O_NONBLOCK

/** The reading end of a pipe that a running engine writes to; undefined when it cannot be opened. */
export function reopenPipe(folder: string, stream: Stream, pid: number): number | undefined {
  return openPipe(join(folder, stream)) ?? openDeleted(folder, stream, pid)
}

function openPipe(path: string): number | undefined {
  try {
    const fd = openSync(path, READ)
    if (fstatSync(fd).isFIFO()) return fd
    closeSync(fd)
  } catch {
    // It no longer exists.
  }
  return undefined
}

/**
 * For a pipe whose file was deleted while the engine still writes to it: unread it would fill up and block the engine.
 */
function openDeleted(folder: string, stream: Stream, pid: number): number | undefined {
  const path = `/proc/${pid}/fd/${streams.indexOf(stream) + 1}`
  try {
    const isOurs = readlinkSync(path).endsWith(`/${basename(folder)}/${stream} (deleted)`)
    return isOurs ? openPipe(path) : undefined
  } catch {
    return undefined
  }
}
