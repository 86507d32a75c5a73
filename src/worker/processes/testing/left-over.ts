import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, vi } from 'vitest'
import { lookAt } from '../process-look.ts'

/** A folder for engines; whatever still mentions it when the test is over is killed. */
export function enginesFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-engines-'))
  onTestFinished(() => {
    for (const pid of leftOver(folder)) process.kill(pid, 'SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  return folder
}

/** Fails unless every process that has to do with the folder goes away. */
export async function expectNothingLeft(folder: string): Promise<void> {
  const left = (): string[] => leftOver(folder).map((pid) => `${pid} ${read(pid, 'cmdline')}`)
  await vi.waitFor(() => expect(left()).toEqual([]), { timeout: 20_000, interval: 20 })
}

/** Processes with the folder in their arguments or their environment, but for ourselves; zombies do not count. */
export function leftOver(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && isAlive(pid))
    .filter((pid) => read(pid, 'cmdline').includes(folder) || read(pid, 'environ').includes(folder))
}

export function isAlive(pid: number): boolean {
  const look = lookAt(pid)
  return typeof look === 'object' && !look.isZombie
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}
