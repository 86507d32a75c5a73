import { replicaKey } from '../../../core/lib/replica-key.ts'
import { AppError } from '../../../platform/errors.ts'
import type { AdminClient } from '../../admin-client.ts'
import { firstSentence } from '../../terminal/format.ts'
import type { Tally } from '../results.ts'

/** How the answers of a model are spread over its replicas, the busiest first; or why that is unknown. */
export type Balance =
  | { known: true; from: 'all answers' | 'a sample'; replicas: { replica: string; node: string; answers: number }[] }
  | { known: false; why: string }

/** How many requests are looked up if gateways do not name the replica in answers, and how many at a time. */
const SAMPLE = 300
const AT_A_TIME = 8

/**
 * From the headers of answers, if gateways send them; else by asking the admin API about a sample of the last requests.
 */
export async function findBalances(
  api: Pick<AdminClient, 'call'>,
  models: ReadonlyMap<string, Tally>,
): Promise<Map<string, Balance>> {
  const names = await replicaNames(api)
  const balances = new Map<string, Balance>()
  for (const [model, tally] of models) {
    if (tally.answered > 0) balances.set(model, await balanceOf(api, tally, names))
  }
  return balances
}

async function balanceOf(api: Pick<AdminClient, 'call'>, tally: Tally, names: ReadonlyMap<string, string>) {
  const shown = (
    from: 'all answers' | 'a sample',
    found: Iterable<{ id: string; node: string; count: number }>,
  ): Balance => {
    const replicas = [...found]
      .toSorted((a, b) => b.count - a.count)
      .map(({ id, node, count }) => ({ replica: names.get(id) ?? id, node, answers: count }))
    return { known: true, from, replicas }
  }
  if (tally.replicas.size > 0) return shown('all answers', tally.replicas.values())
  const every = Math.max(1, Math.ceil(tally.requestIds.length / SAMPLE))
  const sample = tally.requestIds.filter((_, i) => i % every === 0)
  const found = new Map<string, { id: string; node: string; count: number }>()
  const refusals: AppError[] = []
  const askNext = async (): Promise<void> => {
    for (let id = sample.pop(); id !== undefined; id = sample.pop()) {
      try {
        const { tries } = await api.call('explainRequest', { id })
        const served = tries.findLast(({ outcome }) => outcome === 'served')
        if (!served) continue
        const known = found.get(served.replica_id) ?? { id: served.replica_id, node: served.node_name, count: 0 }
        known.count += 1
        found.set(known.id, known)
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        refusals.push(error)
        // Requests that the gateway has forgotten are skipped; any other refusal would be the same for the rest.
        if (error.code !== 'not_found') sample.length = 0
      }
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, askNext))
  const count = [...found.values()].reduce((sum, one) => sum + one.count, 0)
  if (count === 0) return unknown(refusals[0])
  return shown(count === tally.answered ? 'all answers' : 'a sample', found.values())
}

function unknown(refusal: AppError | undefined): Balance {
  const why = refusal ? firstSentence(refusal.message) : 'the answers have no request id'
  return { known: false, why: `${why}; gateways with --expose-node-header tell it in each answer` }
}

/** `model#0` by the id of a replica; empty without an admin key. */
async function replicaNames(api: Pick<AdminClient, 'call'>): Promise<Map<string, string>> {
  try {
    const all = await api.call('listReplicas')
    return new Map(all.map(({ id, model_name: model, replica_index: index }) => [id, replicaKey(model, index)]))
  } catch (error) {
    if (error instanceof AppError) return new Map()
    throw error
  }
}
