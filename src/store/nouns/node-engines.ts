import { z } from 'zod'
import type { ReportedEngineMessage } from '../../api/bus/messages.ts'
import { reportedEngine } from '../../api/reports.ts'
import { canonicalJson } from '../../core/lib/canonical-json.ts'
import type { Node, NodeEngine } from '../../core/types.ts'
import type { Sql } from '../sql.ts'
import { jsonText } from '../json-text.ts'

/** All that a worker says of its engines. */
export const reportedEngines = jsonText(z.array(reportedEngine))

/** What decisions look at: read of every node at every turn, so no more of it than they need. */
export const decisiveEngines = jsonText(
  z.array(
    reportedEngine.pick({
      name: true,
      state: true,
      reason: true,
      version: true,
      memory: true,
      uses: true,
      serves: true,
      serves_no_other: true,
    }),
  ),
)

type DecisiveEngine = z.infer<typeof decisiveEngines>[number]

export function toNodeEngines(engines: readonly DecisiveEngine[]): Node['engines'] {
  return Object.fromEntries(engines.map((engine) => [engine.name, toNodeEngine(engine)]))
}

function toNodeEngine({
  state,
  reason,
  version,
  memory,
  uses,
  serves,
  serves_no_other: isAll,
}: DecisiveEngine): NodeEngine {
  const { device, share, devices_option: devicesOption, bytes, bytes_option: bytesOption } = uses
  const taken = { device, share, devicesOption, bytes, bytesOption }
  const known = { whyNot: whyNot(state, reason), version, memory, uses: taken }
  return isAll ? { ...known, serves } : known
}

/** Progress changes all the time; whether an engine can run, why not, and what it takes, hardly ever. */
export function sameForDecisions(before: string, now: string): boolean {
  if (before === now) return true
  const [a, b] = [before, now].map((text) => toNodeEngines(decisiveEngines.parse(text)))
  return canonicalJson(a) === canonicalJson(b)
}

function whyNot(state: ReportedEngineMessage['state'], reason: string | null): string | null {
  return state === 'missing' || state === 'broken' ? (reason ?? state) : null
}

const enginesRows = z.object({ engines: reportedEngines }).array()

/** What approved nodes say of their engines. Machines of one kind say the same, which is read once. */
export async function listReportedEngines(sql: Sql): Promise<ReportedEngineMessage[]> {
  const rows = await sql.query('select distinct engines from nodes where approved_at is not null')
  return enginesRows.parse(rows).flatMap(({ engines }) => engines)
}
