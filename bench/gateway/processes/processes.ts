import { freePort } from '../../../test/support/http/free-port.ts'
import { cpuMs, startFile } from './child.ts'
import type { Measured, Target } from '../messages.ts'
import { startFlotilla } from '../sides.ts'
import { LEAD_MS } from '../throughput.ts'
import { measureWithWrk } from '../wrk.ts'

export interface Processes {
  one: Measured[]
  two: Measured[]
}

const CONNECTIONS = 64
const WARM_UP_MS = 4000
const ROUND_MS = 2000

/**
 * What a second core brings to a gateway: one process on one core, with its upstreams and its client on the same one, and
 * two processes on two, each with as many of all else on its core. The system spreads the connections over the processes,
 * as with `--processes`, and each sends to the upstreams of both.
 */
export async function measureProcesses(folder: string, rounds: number): Promise<Processes> {
  const [one, two] = [await startCrew(folder, 1), await startCrew(folder, 2)]
  const found: Processes = { one: [], two: [] }
  for (const crew of [one, two]) await crew(WARM_UP_MS)
  for (let round = 0; round < rounds; round += 1) {
    for (const [crew, results] of [
      [one, found.one],
      [two, found.two],
    ] as const) {
      await crew(LEAD_MS)
      results.push(await crew(ROUND_MS))
    }
  }
  return found
}

/** So many cores with a process, its upstreams and a client on each. Returns what measures them. */
async function startCrew(folder: string, count: number): Promise<(durationMs: number) => Promise<Measured>> {
  const cores = Array.from({ length: count }, (_, i) => String(i))
  const sharedPort = await freePort()
  const ports: number[] = []
  for (const core of cores) {
    const upstream = await startFile('upstream-process.ts', [], core)
    ports.push(...(upstream.ready as { ports: number[] }).ports)
  }
  const pids: number[] = []
  for (const core of cores) pids.push((await startFlotilla({ ports, sharedPort }, core)).pid)
  const target: Target = { port: sharedPort, headers: {} }
  return async (durationMs) => {
    const before = cpuMs(pids)
    const work = { do: 'measure', target, kind: 'json', connections: CONNECTIONS, durationMs } as const
    const [first, ...others] = await Promise.all(cores.map((core) => measureWithWrk(folder, work, core)))
    const usedMs = (cpuMs(pids) ?? Number.NaN) - (before ?? Number.NaN)
    const perSecond = others.reduce((sum, other) => sum + other.perSecond, first!.perSecond)
    return { ...first!, perSecond, cpuUs: (usedMs * 1_000_000) / durationMs / perSecond }
  }
}
