import { freePort } from '../../src/testing/free-port.ts'
import type { Measured } from './messages.ts'
import { startFlotilla, type Side } from './sides.ts'
import type { Measure } from './throughput.ts'

const AT_128 = { kind: 'json', connections: 128 } as const
const WARM_UP_MS = 3000
const ROUND_MS = 1000

/** One process and two on one port, on all cores. The system spreads the connections, as with `--processes`. */
export async function measureProcesses(
  ports: readonly number[],
  measure: Measure,
  rounds: number,
): Promise<{ one: Measured[]; two: Measured[] }> {
  const one = await startFlotilla({ ports, sharedPort: await freePort() }, true)
  const sharedPort = await freePort()
  const first = await startFlotilla({ ports, sharedPort }, true)
  const second = await startFlotilla({ ports, sharedPort }, true)
  const two: Side = { ...first, otherPids: [second.pid] }
  const found: { one: Measured[]; two: Measured[] } = { one: [], two: [] }
  for (const side of [one, two]) await measure(side, AT_128, WARM_UP_MS)
  for (let round = 0; round < rounds; round += 1) {
    found.one.push(await measure(one, AT_128, ROUND_MS))
    found.two.push(await measure(two, AT_128, ROUND_MS))
  }
  return found
}
