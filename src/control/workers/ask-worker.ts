import type { MessageOf, ReplyOf, RequestName } from '../../api/bus/subjects.ts'
import { AppError } from '../../platform/errors.ts'
import type { NodeRow } from '../../store/nouns/nodes.ts'
import type { AdminDeps } from '../api/deps.ts'

/** How long a worker may take to answer, over what the command itself makes it wait. */
const ANSWER_WITHIN_MS = 5000

/** Sends a request to the worker of a node. A refusal has the worker's own text; silence becomes an error with the node's name. */
export async function askWorker<N extends RequestName>(
  { bus }: Pick<AdminDeps, 'bus'>,
  { id, name, liveness }: Pick<NodeRow, 'id' | 'name' | 'liveness'>,
  subject: N,
  message: MessageOf<N>,
  waitMs = 0,
): Promise<ReplyOf<N>> {
  try {
    return await bus.request(subject, message, { nodeId: id, timeoutMs: waitMs + ANSWER_WITHIN_MS })
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'unavailable') throw error
    const text = `${name} does not answer on the bus (it is ${liveness}). Try again when it is back.`
    throw new AppError('unavailable', text, { cause: error, retryAfterS: 5 })
  }
}
