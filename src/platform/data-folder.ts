import {
  accessSync,
  chmodSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AppError, messageOf } from './errors.ts'
import { fileProblem } from './file-problem.ts'
import { isFull } from './full-disk.ts'

/** Held locks, referenced from here: an unreferenced one would be garbage-collected, and so released. */
const held = new Set<DatabaseSync>()

export interface DataFolder {
  readonly path: string
  file(name: string): string
  dispose(): void
}

/**
 * Makes the folder (0700) when it is missing and locks it until this process ends, however it ends. The lock is
 * SQLite's own lock on an empty database: the operating system drops it with the process, so a kill -9 leaves nothing
 * stale behind, which a file with a pid in it would.
 */
export function openDataFolder(path: string): DataFolder {
  makeWritable(path)
  const ownerFile = join(path, 'owner.pid')
  const lock = takeLock(join(path, 'lock'), path, ownerFile)
  held.add(lock)
  noteOwner(ownerFile)
  return {
    path,
    file: (name) => join(path, name),
    dispose() {
      rmSync(ownerFile, { force: true })
      held.delete(lock)
      lock.close()
    },
  }
}

/** Only for the message to a second process that finds the folder locked; on a full disk that message does without. */
function noteOwner(file: string): void {
  try {
    writeFileSync(file, `${process.pid}\n`, { mode: 0o600 })
  } catch (error) {
    if (!isFull(error)) throw error
  }
}

function makeWritable(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    // A folder that was made for us is private to us. If it has content, other programs may need access.
    if (isMine(path) && readdirSync(path).length === 0) chmodSync(path, 0o700)
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    const hint = 'Choose another with --data, or change its owner or permissions.'
    throw new AppError('usage', `Cannot use the data folder ${path}: ${fileProblem(error)}. ${hint}`, { cause: error })
  }
}

/** A volume may belong to another user and still let us write. */
function isMine(path: string): boolean {
  return statSync(path).uid === process.getuid?.()
}

function takeLock(file: string, folder: string, ownerFile: string): DatabaseSync {
  let lock: DatabaseSync | undefined
  try {
    lock = new DatabaseSync(file, { timeout: 0 })
    // The lock never writes; a journal on disk could not be created where that is full.
    lock.exec('pragma journal_mode = memory; begin exclusive')
    return lock
  } catch (error) {
    lock?.close()
    if (!/locked|busy/i.test(messageOf(error))) {
      throw new AppError('usage', `Cannot lock the data folder ${folder}: ${messageOf(error)}.`, { cause: error })
    }
    const hint = 'Stop that one first, or give this one its own folder with --data.'
    throw new AppError('usage', `The data folder ${folder} is in use by another Flotilla${ownerOf(ownerFile)}. ${hint}`)
  }
}

function ownerOf(ownerFile: string): string {
  try {
    return ` (process ${readFileSync(ownerFile, 'utf8').trim()})`
  } catch {
    return ''
  }
}
