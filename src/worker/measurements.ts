import type { Hardware } from '../api/hardware.ts'
import { sleep, type Clock } from '../platform/clock.ts'
import { messageOf } from '../platform/errors.ts'
import type { Logger } from '../platform/log.ts'
import { startLoop } from '../platform/loop.ts'

export interface Measurements {
  /** The last that worked. */
  last(): Hardware
  /** Measures at once and from then on every `periodMs`. */
  every(periodMs: number): void
  dispose(): Promise<void>
}

const NOTHING_KNOWN: Hardware = {
  gpu_vendor: null,
  devices: [],
  total_ram: 0,
  available_ram: 0,
  total_disk: 0,
  available_disk: 0,
}
/** How long anybody waits for a measurement; it may go on behind our back. */
const WAIT_MS = 5000

/**
 * What the machine has, measured beside the heartbeats and not within them: a tool that hangs must not make a healthy
 * node look dead. One that fails leaves the last value standing.
 */
export async function startMeasurements(
  measure: () => Promise<Hardware>,
  clock: Clock,
  log: Logger,
): Promise<Measurements> {
  let last = NOTHING_KNOWN
  let underWay: Promise<void> | undefined
  let problem: string | undefined

  const take = async (): Promise<void> => {
    try {
      last = await measure()
      problem = undefined
    } catch (error) {
      if (problem !== messageOf(error)) log.warn({ error: messageOf(error) }, 'the hardware cannot be measured')
      problem = messageOf(error)
    }
  }
  const turn = async (): Promise<void> => {
    underWay ??= take().finally(() => (underWay = undefined))
    const enough = new AbortController()
    const late = sleep(clock, WAIT_MS, enough.signal)
    await Promise.race([underWay, late])
    enough.abort()
  }

  await turn()
  let loop: ReturnType<typeof startLoop> | undefined
  return {
    last: () => last,
    every(periodMs) {
      loop ??= startLoop({ periodMs, turn, clock, onError: () => {} })
    },
    async dispose() {
      await loop?.dispose()
    },
  }
}
