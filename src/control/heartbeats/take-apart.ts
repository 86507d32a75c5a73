import { AppError } from '../../platform/errors.ts'
import { LeaseLostError } from '../../store/nouns/leases.ts'

/** The store is away or slow, or we may not write to it: no heartbeat is at fault for that. */
const OF_THE_STORE = new Set(['unavailable', 'timeout', 'usage'])

/**
 * Writes the heartbeats of several nodes together. When that fails (a text or a number that the store does not hold), it
 * writes each by itself, so that only the bad one is lost and none is delayed. `onRefused` gets those.
 */
export async function takeApart<T, R>(
  batch: readonly T[],
  take: (part: readonly T[]) => Promise<R[]>,
  onRefused: (one: T, error: unknown) => void,
): Promise<R[]> {
  try {
    return await take(batch)
  } catch (error) {
    if (isOfTheStore(error)) throw error
    if (batch.length === 1) {
      onRefused(batch[0]!, error)
      return []
    }
    const taken: R[] = []
    for (const one of batch) taken.push(...(await takeApart([one], take, onRefused)))
    return taken
  }
}

function isOfTheStore(error: unknown): boolean {
  return error instanceof LeaseLostError || (error instanceof AppError && OF_THE_STORE.has(error.code))
}
