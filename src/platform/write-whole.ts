import { closeSync, ftruncateSync, openSync, renameSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { isFull } from './full-disk.ts'

/** Writes a file (0600) of which nobody ever reads half. Of its writers there is one at a time: who owns the folder. */
export function writeWhole(path: string, text: string): void {
  // Always the same name, so that what a sudden end leaves behind is used up by the next write.
  const temporary = `${path}.new`
  writeFileSync(temporary, text, { mode: 0o600 })
  renameSync(temporary, path)
}

/**
 * The same, and on a full disk over what stands there, where that is at least as long: it takes no more room. For short
 * texts that a reader reads in one piece.
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
