import { LOAD_WAIT_MS } from '../limits.ts'
import type { OpenRequest } from '../gateway.ts'
import type { Check } from './check.ts'

/** The wait for its model, and three tries of the longest answer. */
const ANSWERED_WITHIN_MS = LOAD_WAIT_MS + 60_000

export function isLost({ startedMs }: OpenRequest, nowMs: number): boolean {
  return nowMs - startedMs > ANSWERED_WITHIN_MS
}

/** Invariant 10: no accepted request is lost. It is answered, broken off with an error, or refused; and in time. */
export function requestsCheck(): Check {
  return {
    name: 'requests (invariant 10)',
    look({ ground, gateways }) {
      for (const { name, open } of gateways) {
        const [oldest] = open
        if (oldest && isLost(oldest, ground.queue.nowMs)) {
          return `a request for ${oldest.modelName} at ${name} has had no answer for two minutes`
        }
      }
      return undefined
    },
  }
}
