import type { Candidate } from '../records/decision.ts'
import type { DeliveryNotes } from './parcel.ts'
import type { Liveness } from '../health/liveness.ts'
import type { LiveRoute, LiveTable } from '../table/routing-table.ts'

/** Enough to see why the chosen one was; a list of thousands for each of thousands of requests would be a leak. */
const FEW_CANDIDATES = 8
/** For requests that did not go well at once. */
const MOST_CANDIDATES = 50

/**
 * Writes down among which replicas `chosen` was chosen, before it is counted: the loads are those that decided. Of a
 * request that is not sampled and goes well at once only the chosen one is noted.
 */
export function noteCandidates(
  decision: Omit<DeliveryNotes, 'tries'>,
  chosen: LiveRoute,
  table: Pick<LiveTable, 'ranked' | 'loadOf' | 'routesOf'>,
  liveness: Pick<Liveness, 'whyOut'>,
): void {
  const isFirst = decision.candidates.length === 0
  if (isFirst) {
    decision.candidateCount = table.routesOf(chosen.modelName).length
    // A list that is made with one has room for one; to add to an empty one makes room for many.
    decision.candidates = [candidate(chosen, table, null)]
    if (!decision.isSampled) return
  }
  const { candidates } = decision
  // What an earlier pick has seen stays as it was seen.
  if (!find(candidates, chosen)) candidates.push(candidate(chosen, table, null))
  for (const route of table.ranked(chosen.modelName, isFirst ? FEW_CANDIDATES : MOST_CANDIDATES)) {
    if (candidates.length >= MOST_CANDIDATES) return
    if (!find(candidates, route)) candidates.push(candidate(route, table, liveness.whyOut(route) ?? null))
  }
}

function candidate(route: LiveRoute, table: Pick<LiveTable, 'loadOf'>, leftOut: string | null): Candidate {
  const { here, elsewhere, lastUsedMs } = table.loadOf(route)
  return { route, here, elsewhere, lastUsedMs, leftOut }
}

/** Writes down that a replica was passed over although it had been chosen. */
export function noteLeftOut({ candidates }: Pick<DeliveryNotes, 'candidates'>, route: LiveRoute, why: string): void {
  const candidate = find(candidates, route)
  if (candidate) candidate.leftOut = why
}

function find(candidates: readonly Candidate[], { replicaId }: LiveRoute): Candidate | undefined {
  return candidates.find(({ route }) => route.replicaId === replicaId)
}
