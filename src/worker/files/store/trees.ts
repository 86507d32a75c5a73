import { mkdir, rename, rm, stat, symlink } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { AppError } from '../../../platform/errors.ts'
import { fileProblem } from '../../../platform/file-problem.ts'
import { idOf, type Layout } from './layout.ts'
import type { Fetched } from './fetched.ts'

/** Prefix of unfinished trees; they are deleted when the store is opened. */
export const UNFINISHED = '.new-'

/** Makes the tree of links to blobs, unless it exists and is complete. */
export async function buildTree(layout: Layout, files: readonly Fetched[]): Promise<string> {
  const id = treeId(files)
  if (await isWhole(layout, id, files)) return id
  const temporary = layout.tree(`${UNFINISHED}${id}`)
  await rm(temporary, { recursive: true, force: true })
  try {
    for (const { path, sha256 } of files) {
      const link = join(temporary, path)
      await mkdir(dirname(link), { recursive: true, mode: 0o700 })
      // Relative, so that the whole folder can be moved. The final tree has the same depth as the temporary one.
      await symlink(relative(dirname(link), layout.blob(sha256)), link)
    }
    await rm(layout.tree(id), { recursive: true, force: true })
    await rename(temporary, layout.tree(id))
  } catch (error) {
    await rm(temporary, { recursive: true, force: true })
    throw new AppError('unavailable', `Cannot put the files in place in ${layout.trees}: ${fileProblem(error)}.`, {
      cause: error,
    })
  }
  return id
}

/** The same files under the same names are the same tree, so a tree never changes while an engine uses it. */
function treeId(files: readonly Fetched[]): string {
  const lines = files.map(({ path, sha256 }) => `${sha256} ${path}`)
  return idOf(lines.toSorted((a, b) => (a < b ? -1 : 1)).join('\0'))
}

/** Whether every file of it exists with the expected size. */
export async function isWhole(layout: Layout, id: string, files: readonly Fetched[]): Promise<boolean> {
  for (const { path, size } of files) {
    const facts = await stat(join(layout.tree(id), path)).catch(() => undefined)
    if (!facts?.isFile() || facts.size !== size) return false
  }
  return true
}
