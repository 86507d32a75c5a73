import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive } from '../until.ts'

/** The engine processes that the worker with this data folder has written down, and that run. */
export function enginesOf(data: string): number[] {
  const folder = join(data, 'worker', 'replicas')
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .map((name) => join(folder, name, 'identity'))
    .filter((file) => existsSync(file))
    .map((file) => Number(readFileSync(file, 'utf8').split('\n', 1)[0]))
    .filter((pid) => pid > 1 && isAlive(pid))
}
