import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Problem } from '../../api/admin/cluster-schemas.ts'

/** A file by its path and by what was there when it was opened. */
export interface OpenFile {
  path: string
  inode: bigint
  device: bigint
}

/** To be asked right after the file was opened. */
export function openFileAt(path: string): OpenFile | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found && { path, inode: found.ino, device: found.dev }
}

/** Tells files apart: by disk and number, as text. */
export function fileMark(path: string): string | undefined {
  const found = openFileAt(path)
  return found && markOf(found)
}

export function markOf({ device, inode }: OpenFile): string {
  return `${device}:${inode}`
}

/** The error when the path leads elsewhere now: the open file has no name any more and is lost when the process ends. */
export function fileProblem(
  file: OpenFile,
): (Pick<Problem, 'severity' | 'text' | 'advice'> & { kind: 'store' }) | undefined {
  const now = openFileAt(file.path)
  if (now?.inode === file.inode && now.device === file.device) return undefined
  const what = now ? 'was replaced by another file' : 'was deleted'
  const text = `The database ${file.path} ${what} while this frontend has it open: everything since is lost when it stops.`
  const save = 'flotilla db export backup.jsonl --data'
  const advice = `Do not stop it. Save everything first: ${save} ${dirname(file.path)}. Then stop it, import the backup and start it.`
  return { kind: 'store', severity: 'error', text, advice }
}
