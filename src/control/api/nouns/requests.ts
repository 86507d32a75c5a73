import { NobodyListensError } from '../../../bus/bus.ts'
import { AppError } from '../../../platform/errors.ts'
import type { Answers } from '../answers.ts'
import type { AdminDeps } from '../deps.ts'

/** Gateways look it up in memory. One that does not know it stays silent, so only an unknown id takes this long. */
const ANSWER_WITHIN_MS = 1000

/** Only the gateway that served a request knows how it was routed. */
export function requestAnswers({ bus }: Pick<AdminDeps, 'bus'>): Answers<'explainRequest'> {
  return {
    async explainRequest(_body, { id }) {
      try {
        return (await bus.request('why', { request_id: id }, { timeoutMs: ANSWER_WITHIN_MS })).decision
      } catch (error) {
        throw isSilence(error) ? whySilent(bus, id, error) : error
      }
    },
  }
}

function isSilence(error: unknown): boolean {
  return error instanceof AppError && error.code === 'unavailable'
}

function whySilent(bus: AdminDeps['bus'], id: string, cause: unknown): AppError {
  const retry = { cause, retryAfterS: 5 }
  if (!bus.isConnected()) {
    const text = 'This frontend has lost the bus, so it cannot ask the gateways. Try again when it is back.'
    return new AppError('unavailable', text, retry)
  }
  if (cause instanceof NobodyListensError) {
    return new AppError('unavailable', 'No gateway is on the bus. Try again when one is running.', retry)
  }
  const text = `No gateway remembers a request "${id}". Records are kept for a while only, and not of every request.`
  return new AppError('not_found', text, { cause })
}
