import type { Hardware } from '../../api/hardware.ts'
import { atMost, type Clock } from '../../platform/run/clock.ts'
import { messageOf } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'
import { startLoop } from '../../platform/run/loop.ts'

/** What is looked at just before the machine is measured, and counts from when it has been. */
export interface Looks {
  /** Never rejects. What it returns says whether there is anything new. */
  look(machine: Hardware): Promise<() => boolean>
  onNews: () => void
  /** What the machine has was read, from this time on. Whether that makes something known. */
  onRead?: (begunMs: number) => boolean
  /** Something is not in the last reading: the next one comes soon. */
  isOpen?: () => boolean
}

export interface Measurements {
  /** The last that worked. */
  last(): Hardware
  /** Measures at once and from then on every `periodMs`. */
  every(periodMs: number): void
  /** Something is other than it was: measures soon, if it is measured regularly already. */
  wake(): void
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
/** So soon it is measured again while something that has ended is not in the last reading: a slow tool is not asked twice. */
const AGAIN_MS = 500
/** How long anybody waits for a measurement; it may go on behind our back. */
const WAIT_MS = 5000

/**
 * What the machine has, measured beside the heartbeats and not within them: a tool that hangs must not make a healthy
 * node look dead. One that fails leaves the last value standing.
 */
export async function startMeasurements(
  measure: () => Promise<Hardware & { begunMs?: number }>,
  clock: Clock,
  log: Logger,
  looks?: Looks,
): Promise<Measurements> {
  let last = NOTHING_KNOWN
  let underWay: Promise<void> | undefined
  let problem: string | undefined
  let loop: ReturnType<typeof startLoop> | undefined
  let cancelAgain = (): void => {}

  const take = async (): Promise<void> => {
    try {
      const take = await looks?.look(last)
      const calledMs = clock.nowMs()
      const { begunMs = calledMs, ...machine } = await measure()
      last = machine
      problem = undefined
      const isNews = take?.() === true
      if (looks?.onRead?.(begunMs) === true || isNews) looks?.onNews()
    } catch (error) {
      if (problem !== messageOf(error)) log.warn({ error: messageOf(error) }, 'the hardware cannot be measured')
      problem = messageOf(error)
    }
  }
  const turn = async (): Promise<void> => {
    underWay ??= take().finally(() => (underWay = undefined))
    await atMost(clock, WAIT_MS, underWay)
    cancelAgain()
    if (looks?.isOpen?.() === true) cancelAgain = clock.after(AGAIN_MS, () => loop?.wake())
  }

  await turn()
  return {
    last: () => last,
    every(periodMs) {
      loop ??= startLoop({ periodMs, turn, clock, onError: () => {} })
    },
    wake: () => loop?.wake(),
    async dispose() {
      await loop?.dispose()
      cancelAgain()
    },
  }
}
