import { replicaKey } from '../../core/lib/replica-key.ts'
import { AppError } from '../../platform/errors.ts'
import type { Client } from '../client.ts'
import { counted, duration } from '../terminal/format.ts'
import { plain } from '../terminal/text-width.ts'

/** Which replica gave an answer, for a person. */
export async function whoAnswered({ api }: Client, requestId: string | undefined): Promise<string> {
  if (requestId === undefined) return 'There is no answer yet.'
  try {
    const decision = await api.call('explainRequest', { id: requestId })
    const served = decision.tries.findLast(({ outcome }) => outcome === 'served' || outcome === 'client gone')
    if (!served) return `No replica has answered; flotilla why ${plain(requestId)} tells more.`
    const replica = (await api.call('listReplicas')).find(({ id }) => id === served.replica_id)
    const name = replica ? replicaKey(replica.model_name, replica.replica_index) : served.replica_id
    const others = counted(decision.candidate_count, 'replica')
    return `${plain(name)} on ${plain(served.node_name)}, of ${others} that could have answered, in ${duration(served.ms)}.`
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return `The replica is unknown: ${error.message}`
  }
}
