import type { RuleView } from '../../api/admin/rule-schemas.ts'
import { replicaKey } from '../../core/lib/replica-key.ts'
import { noNodeMatches } from '../../core/explain/effect-text.ts'
import { isOnTheWay } from '../../core/lifecycle/states.ts'
import { wantedReplicas } from '../../core/reconcile/spread.ts'
import { routableReplicas } from '../../core/routing/table.ts'
import type { Node } from '../../core/types.ts'
import { AppError } from '../../platform/errors.ts'
import type { Sql } from '../../store/sql.ts'
import type { StoredReplica } from '../../store/nouns/replicas.ts'
import { findRule, listRules, type RuleRow } from '../../store/nouns/rules.ts'
import { loadWorld, type StoredWorld } from '../../store/world/world.ts'
import { failureText } from '../../core/explain/failure-text.ts'

/** The warning to an admin who changes a rule that is in the configuration. */
export const OVERWRITTEN =
  'It is in the configuration of a frontend: the next start of a frontend overwrites what is changed here.'

export async function viewRules(sql: Sql): Promise<RuleView[]> {
  const rows = await listRules(sql)
  return rows.map(ruleViewer(await loadWorld(sql)))
}

export async function viewOneRule(sql: Sql, modelName: string): Promise<RuleView> {
  const row = await findRule(sql, modelName)
  if (!row) throw noRule(modelName)
  return ruleViewer(await loadWorld(sql))(row)
}

export function noRule(modelName: string): AppError {
  return new AppError('not_found', `There is no rule for the model "${modelName}".`)
}

/** To view many by one world. */
export function ruleViewer(world: StoredWorld): (row: RuleRow) => RuleView {
  const replicas = Map.groupBy(world.replicas, ({ modelName }) => modelName)
  const routes = routableReplicas(world.models, world.nodes, world.replicas, world.rules)
  const served = Map.groupBy(routes, ({ modelName }) => modelName)
  const revisions = new Map(world.models.map(({ name, revision }) => [name, revision]))
  return (row) => {
    const mine = replicas.get(row.model_name) ?? []
    const revision = revisions.get(row.model_name)
    const counts = {
      wanted: wantedOf(row, world.nodes),
      ready: served.get(row.model_name)?.length ?? 0,
      coming: mine.filter((one) => one.revision === revision && isOnTheWay(one.state)).length,
    }
    const state = stateOf(row, counts, world.nowMs)
    return {
      ...row,
      warning: row.source === 'config' ? OVERWRITTEN : null,
      state,
      reason: revision === undefined ? undefinedReason(row, counts) : reasonOf(row, state, counts, mine, world.nodes),
      wanted: counts.wanted,
      replicas: mine.length,
      ready: counts.ready,
    }
  }
}

interface Counts {
  wanted: number
  ready: number
  coming: number
}

function wantedOf(row: RuleRow, nodes: readonly Node[]): number {
  const { spread_all: spreadAll, min_replicas: minReplicas, node_selector: nodeSelector } = row
  return wantedReplicas({ spreadAll, minReplicas, nodeSelector }, nodes)
}

function stateOf(row: RuleRow, { wanted, ready, coming }: Counts, nowMs: number): RuleView['state'] {
  if (ready >= wanted) return 'met'
  if (row.unsatisfiable_until !== null && row.unsatisfiable_until > nowMs) return 'cooling'
  return ready + coming >= wanted ? 'starting' : 'unmet'
}

/** A rule may exist before its model; it waits, and says so. */
function undefinedReason({ model_name: name }: RuleRow, { wanted }: Counts): string | null {
  return wanted === 0 ? null : `There is no model "${name}": define the model or load it once.`
}

function reasonOf(
  row: RuleRow,
  state: RuleView['state'],
  { wanted, ready, coming }: Counts,
  replicas: readonly StoredReplica[],
  nodes: readonly Node[],
): string | null {
  const unmatched = noNodeMatches({ modelName: row.model_name, nodeSelector: row.node_selector }, nodes)
  if (state === 'met') return unmatched ?? (row.spread_all && wanted === 0 ? 'No node matches it now.' : null)
  if (unmatched !== undefined) {
    const [help = ''] = / What would help: .*$/s.exec(row.last_decision?.reason ?? '') ?? []
    return unmatched + help
  }
  if (state === 'starting') return `${coming} of ${wanted} on the way.`
  if (row.last_decision) return row.last_decision.reason
  const failed = replicas.find((one) => one.state === 'failed')
  if (failed)
    return `${replicaKey(row.model_name, failed.replicaIndex)} failed: ${failureText(failed.error) || 'it does not say why'}`
  return `${wanted - ready - coming} of ${wanted} have found no node yet.`
}
