import { renameSync, writeFileSync } from 'node:fs'

/** Writes a file (0600) of which nobody ever reads half. Of its writers there is one at a time: who owns the folder. */
export function writeWhole(path: string, text: string): void {
  // Always the same name, so that what a sudden end leaves behind is used up by the next write.
  const temporary = `${path}.new`
  writeFileSync(temporary, text, { mode: 0o600 })
  renameSync(temporary, path)
}
