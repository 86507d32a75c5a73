import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atEnd } from './at-end.ts'

/** A folder that is gone when the test is. */
export function tempFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'flotilla-test-'))
  atEnd(() => rmSync(path, { recursive: true, force: true }))
  return path
}
