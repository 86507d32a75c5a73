import type { Candidate } from '../records/decision.ts'
import type { DeliveryNotes } from './parcel.ts'
import type { Liveness } from '../health/liveness.ts'
import type { LiveRoute, LiveTable } from '../table/routing-table.ts'

/** Enough to explain the choice; lists of thousands for thousands of requests would take too much memory. */
const FEW_CANDIDATES = 8
/** For requests that needed more than one try. */
const MOST_CANDIDATES = 50

/**
 * Records the candidates among which `chosen` was picked. It runs before the pick counts, so that the loads are those that
 * decided. A request that is not sampled and succeeds at once gets only the chosen one.
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
    // A literal of one reserves room for one; a push to an empty array reserves room for many.
    decision.candidates = [candidate(chosen, table, null)]
    if (!decision.isSampled) return
  }
  const { candidates } = decision
  // Candidates of an earlier pick keep the values of that pick.
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

/** Records why a replica was passed over after it had been chosen. */
export function noteLeftOut({ candidates }: Pick<DeliveryNotes, 'candidates'>, route: LiveRoute, why: string): void {
  const candidate = find(candidates, route)
  if (candidate) candidate.leftOut = why
}

function find(candidates: readonly Candidate[], { replicaId }: LiveRoute): Candidate | undefined {
  return candidates.find(({ route }) => route.replicaId === replicaId)
}
