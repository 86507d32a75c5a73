import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive } from '../../support/until.ts'

/** Engines have the environment of their worker. */
export const CLOCK_VARIABLE = 'FAULTS_CLOCK'

/** The engine processes that the worker with this data folder has written down, and that run. */
export function enginePids(data: string): number[] {
  const folder = join(data, 'worker', 'replicas')
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .map((name) => Number(read(join(folder, name, 'identity')).split('\n', 1)[0]))
    .filter((pid) => pid > 1 && isAlive(pid))
}

/** Every engine on this machine that a worker with this folder has started, whoever remembers it. */
export function enginesStartedIn(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const isOurs = read(`/proc/${pid}/environ`)
        .split('\0')
        .includes(`${CLOCK_VARIABLE}=${join(folder, 'clock')}`)
      return isOurs && /\0[^\0]*sim\/main\.[jt]s\0/.test(read(`/proc/${pid}/cmdline`)) && isAlive(pid)
    })
}

/** Ports of a range on which somebody listens. */
export function listeningPorts({ from, to }: { from: number; to: number }): number[] {
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)
  const ports = lines.flatMap((line) => {
    const [, local, , state] = line.trim().split(/\s+/)
    return state === '0A' ? [Number.parseInt(local!.split(':')[1]!, 16)] : []
  })
  return ports.filter((port) => port >= from && port <= to)
}

/** Nothing of what is not there, or no longer. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
