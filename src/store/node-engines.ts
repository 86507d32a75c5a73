import { z } from 'zod'
import type { ReportedEngineMessage } from '../api/bus/messages.ts'
import { reportedEngine } from '../api/reports.ts'
import { canonicalJson } from '../core/lib/canonical-json.ts'
import type { Node } from '../core/types.ts'
import { jsonText } from './json-text.ts'

/** All that a worker says of its engines. */
export const reportedEngines = jsonText(z.array(reportedEngine))

/** What decisions look at: read of every node at every turn, so no more of it than they need. */
export const decisiveEngines = jsonText(z.array(reportedEngine.pick({ name: true, state: true, reason: true })))

/** Why each engine cannot run; null when it can, perhaps after it has been installed. */
export function whyNotOf(
  engines: readonly Pick<ReportedEngineMessage, 'name' | 'state' | 'reason'>[],
): Node['engines'] {
  return Object.fromEntries(engines.map(({ name, state, reason }) => [name, whyNot(state, reason)]))
}

/** Progress and versions change all the time; whether an engine can run, and why not, hardly ever. */
export function sameForDecisions(before: string, now: string): boolean {
  if (before === now) return true
  const [a, b] = [before, now].map((text) => whyNotOf(decisiveEngines.parse(text)))
  return canonicalJson(a) === canonicalJson(b)
}

function whyNot(state: ReportedEngineMessage['state'], reason: string | null): string | null {
  return state === 'missing' || state === 'broken' ? (reason ?? state) : null
}
