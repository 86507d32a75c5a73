import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive } from '../../../src/testing/until.ts'

/** The engine processes that the worker with this data folder has written down, and that run. */
export function enginePids(data: string): number[] {
  const folder = join(data, 'worker', 'replicas')
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .map((name) => readFirstLine(join(folder, name, 'identity')))
    .map(Number)
    .filter((pid) => pid > 1 && isAlive(pid))
}

/** Every simulated engine on this machine that was started for one of these ports, whoever remembers it. */
export function enginesOnPorts({ from, to }: { from: number; to: number }): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const [, ...args] = commandOf(pid)
      const port = Number(args[args.indexOf('--port') + 1])
      return args.some((arg) => /sim\/main\.[jt]s$/.test(arg)) && port >= from && port <= to && isAlive(pid)
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

function commandOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}

function readFirstLine(file: string): string {
  try {
    return readFileSync(file, 'utf8').split('\n', 1)[0] ?? ''
  } catch {
    return ''
  }
}
