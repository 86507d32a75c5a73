import { closeSync, ftruncateSync, openSync, renameSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { isFull } from './full-disk.ts'

/** Writes a file (0600) atomically. There must be one writer at a time: the owner of the folder. */
export function writeWhole(path: string, text: string): void {
  // Always the same name, so that the next write reuses what a sudden end left behind.
  const temporary = `${path}.new`
  writeFileSync(temporary, text, { mode: 0o600 })
  renameSync(temporary, path)
}

/**
 * The same; on a full disk it overwrites the existing file in place, if that is at least as long, since this needs no
 * more room. For short texts that are read in one piece.
 */
export function writeShort(path: string, text: string): void {
  try {
    writeWhole(path, text)
  } catch (error) {
    rmSync(`${path}.new`, { force: true })
    const there = statSync(path, { throwIfNoEntry: false })
    if (!isFull(error) || !there || there.size < Buffer.byteLength(text)) throw error
    const file = openSync(path, 'r+')
    try {
      writeSync(file, text, 0)
      ftruncateSync(file, Buffer.byteLength(text))
    } finally {
      closeSync(file)
    }
  }
}
