import type { Stats } from 'node:fs'
import { lstat, readdir, realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, relative, sep } from 'node:path'
import type { FolderView } from '../../api/admin/schemas.ts'
import { AppError } from '../../platform/errors.ts'

export interface Found {
  kind: 'file' | 'folder'
  /** Without links. */
  path: string
}

/** More is no model. */
const MOST_FILES = 10_000

/**
 * Finds what `path` names below the folder, and nothing else: no way leads out, neither `..` nor a link. The folder
 * itself may be a link to another disk.
 */
export async function findBelow(folder: string, path: string): Promise<Found> {
  const nothing = new AppError('not_found', `There is no "${path}" below the models folder of this frontend.`)
  if (isAbsolute(path) || path.split(/[/\\]/).includes('..')) throw nothing
  try {
    const root = await realpath(folder)
    const real = await realpath(join(root, path))
    if (!isBelow(root, real)) throw nothing
    const found = await lstat(real)
    if (found.isFile()) return { kind: 'file', path: real }
    if (found.isDirectory()) return { kind: 'folder', path: real }
  } catch {
    // It is not there, may not be read, or has a name that no file can have.
  }
  throw nothing
}

/** Every file in it, at any depth, by name. Links to files count when they stay below `folder`; links to folders do not. */
export async function listFiles(folder: string, path: string): Promise<FolderView> {
  const root = await realpath(folder)
  const files: FolderView['files'] = []
  const waiting = [path]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const entry of await readdir(next, { withFileTypes: true })) {
      const full = join(next, entry.name)
      if (entry.isDirectory()) waiting.push(full)
      else if (entry.isFile() || (entry.isSymbolicLink() && (await leadsBelow(root, full)))) {
        const facts = await statIfThere(full)
        if (facts) files.push({ path: relative(path, full).split(sep).join('/'), size: facts.size })
      }
      if (files.length + waiting.length <= MOST_FILES) continue
      throw new AppError('too_large', `There are more than ${MOST_FILES} files and folders in there. Name one of them.`)
    }
  }
  // One that was taken away meanwhile would look as if it had been emptied.
  await stat(path)
  return { files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)) }
}

/** A file may be taken away between the list and the look at it. */
export async function statIfThere(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

async function leadsBelow(root: string, link: string): Promise<boolean> {
  try {
    const real = await realpath(link)
    return isBelow(root, real) && (await lstat(real)).isFile()
  } catch {
    return false
  }
}

function isBelow(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)
}
