import { freePort } from '../../src/testing/free-port.ts'
import { cpuMs, startFile } from './child.ts'
import type { Measured, Target } from './messages.ts'
import { startFlotilla } from './sides.ts'
import { LEAD_MS } from './throughput.ts'
import { measureWithWrk } from './wrk.ts'

export interface Processes {
  one: Measured[]
  two: Measured[]
}

const CONNECTIONS = 64
const WARM_UP_MS = 4000
const ROUND_MS = 2000

/**
 * What a second core brings to a gateway: one process on one core, with its upstreams and its client on the same one, and
 * two processes on two, with twice as many of all else. The system spreads the connections, as with `--processes`.
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

/** So many processes, upstreams and threads of the client on as many cores. Returns what measures them. */
async function startCrew(folder: string, count: number): Promise<(durationMs: number) => Promise<Measured>> {
  const cores = count === 1 ? '0' : `0-${count - 1}`
  const sharedPort = await freePort()
  const ports: number[] = []
  for (let i = 0; i < count; i += 1) {
    const upstream = await startFile('upstream-process.ts', [], cores)
    ports.push(...(upstream.ready as { ports: number[] }).ports)
  }
  const pids: number[] = []
  for (let i = 0; i < count; i += 1) pids.push((await startFlotilla({ ports, sharedPort }, cores)).pid)
  const target: Target = { port: sharedPort, headers: {} }
  return async (durationMs) => {
    const before = cpuMs(pids)
    const work = { do: 'measure', target, kind: 'json', connections: CONNECTIONS * count, durationMs } as const
    const measured = await measureWithWrk(folder, work, { threads: count, cores })
    const usedMs = (cpuMs(pids) ?? Number.NaN) - (before ?? Number.NaN)
    return { ...measured, cpuUs: (usedMs * 1_000_000) / durationMs / measured.perSecond }
  }
}
