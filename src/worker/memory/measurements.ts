import type { Hardware } from '../../api/hardware.ts'
import { atMost, type Clock } from '../../platform/run/clock.ts'
import { messageOf } from '../../platform/errors.ts'
import type { Logger } from '../../platform/run/log.ts'
import { startLoop } from '../../platform/run/loop.ts'

/** A look that runs just before the machine is measured, and takes effect after the measurement. */
export interface Looks {
  /** Never rejects. The returned function applies the look, and returns whether anything is new. */
  look(machine: Hardware): Promise<() => boolean>
  onNews: () => void
  /** The machine was read, beginning at this time. Returns whether that makes something known. */
  onRead?: (begunMs: number) => boolean
  /** The last reading lacks something: the next one should come soon. */
  isOpen?: () => boolean
}

export interface Measurements {
  /** The last successful measurement. */
  last(): Hardware
  /** Measures at once, and from then on every `periodMs`. */
  every(periodMs: number): void
  /** Something has changed: measures soon, if regular measurements have begun. */
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
/**
 * The pause before another measurement while an ended process is missing from the last reading; a slow tool is not
 * started twice.
 */
const AGAIN_MS = 500
/** How long a caller waits for a measurement; it may go on in the background. */
const WAIT_MS = 5000

/**
 * Measures the machine beside the heartbeats, not within them: a tool that hangs must not make a healthy node look
 * dead. A failed measurement leaves the last value in place.
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
