import type { Slots, Ticket } from './slots.ts'

/**
 * Waits for a slot; undefined when the queue is full. The caller must call `leave` on the ticket in every case. If the
 * client disconnects first, the ticket has left already.
 */
export async function waitForSlot(slots: Slots, signal: AbortSignal): Promise<Ticket | undefined> {
  let start = (): void => {}
  const started = new Promise<void>((resolve) => {
    start = resolve
  })
  const ticket = slots.arrive(start)
  if (!ticket) return undefined
  const giveUp = (): void => {
    slots.leave(ticket)
    start()
  }
  signal.addEventListener('abort', giveUp, { once: true })
  if (signal.aborted) giveUp()
  await started
  signal.removeEventListener('abort', giveUp)
  return ticket
}
