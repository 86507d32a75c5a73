import type { IncomingMessage } from 'node:http'

/**
 * Names one run of a worker, from its start to its end: in what it asks of frontends, in each heartbeat, and at its data
 * port. A boot lasts longer: over restarts of the worker. A worker of the release before says none.
 */
export const RUN_HEADER = 'x-flotilla-run'

const MOST_CHARS = 100

export function runOf({ headers }: Pick<IncomingMessage, 'headers'>): string | null {
  const run = headers[RUN_HEADER]
  return typeof run === 'string' && run !== '' && run.length <= MOST_CHARS ? run : null
}
