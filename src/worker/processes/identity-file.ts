import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeWhole } from '../../platform/write-whole.ts'
import type { ProcessIdentity } from './process-identity.ts'

/**
 * `identity` in the replica's folder tells a later worker, and the watchdog, which process is ours. Four lines, because
 * the watchdog is a shell script: pid, start time, boot, mark.
 */
export function writeIdentity(folder: string, { pid, startedAt, boot, mark }: ProcessIdentity): void {
  writeWhole(join(folder, FILE), `${pid}\n${startedAt}\n${boot}\n${mark}\n`)
}

/** Undefined when the file is missing or unreadable. */
export function readIdentity(folder: string): ProcessIdentity | undefined {
  let text: string
  try {
    text = readFileSync(join(folder, FILE), 'utf8')
  } catch {
    return undefined
  }
  const [pid = '', startedAt = '', boot = '', mark = '', end, ...rest] = text.split('\n')
  // Signals go to this number: -1 would be every process, 1 is init.
  const isWhole = /^[1-9]\d{0,9}$/.test(pid) && pid !== '1' && end === '' && rest.length === 0
  return isWhole && startedAt && boot && mark ? { pid: Number(pid), startedAt, boot, mark } : undefined
}

/** Does nothing when the file names another process by now. */
export function removeIdentity(folder: string, { mark }: Pick<ProcessIdentity, 'mark'>): void {
  if (readIdentity(folder)?.mark !== mark) return
  try {
    rmSync(join(folder, FILE), { force: true })
  } catch {
    // It does no harm: readers ask the operating system whether that process still runs.
  }
}

const FILE = 'identity'
