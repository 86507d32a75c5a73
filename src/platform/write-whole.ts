import { renameSync, writeFileSync } from 'node:fs'

/** Writes a file (0600) of which nobody ever reads half. */
export function writeWhole(path: string, text: string): void {
  const temporary = `${path}.${process.pid}`
  writeFileSync(temporary, text, { mode: 0o600 })
  renameSync(temporary, path)
}
