import { AppError } from '../../platform/errors.ts'
import { LeaseLostError } from '../../store/nouns/leases.ts'

/** The store is away or slow, or is not ours to write: that no heartbeat is at fault for. */
const OF_THE_STORE = new Set(['unavailable', 'timeout', 'usage'])

/**
 * Writes what several nodes have said together. When that cannot be written (a text or a number that the store does not hold),
 * each is written by itself, so that one node's message is lost alone and delays no other. `onRefused` hears of those.
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
