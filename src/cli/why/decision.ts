import type { DecisionRecord } from '../../api/decision-record.ts'
import type { View } from '../client.ts'
import { facts, type Fact } from '../facts.ts'
import { duration, gib, span } from '../terminal/format.ts'
import type { Look } from '../terminal/style.ts'
import { table } from '../terminal/table.ts'
import { plain } from '../terminal/text-width.ts'
import { wrap } from '../terminal/wrap.ts'

const INDENT = 2
const ERROR_INDENT = 4

/** One request: the model it asked for, the candidates, and the replicas that were tried. */
export function renderDecision(decision: DecisionRecord, view: View): string[] {
  const { paint, nowMs } = view
  const { at, method, path, gateway, model, policy, key_id: key, queued_ms: queuedMs, load_wait_ms: loadMs } = decision
  const about: Fact[] = [
    ['When', `${span(nowMs - at)} ago, at ${new Date(at).toISOString()}`],
    ['Asked', `${method} ${path}, of the gateway ${gateway}`],
    ['Model', model === null ? 'none was named' : model],
    ['Policy', ...(policy === null ? [] : [policyTexts[policy]])],
    ['Key', key ?? 'none was needed'],
    ['Load', ...(loadMs === 0 ? [] : [`waited ${duration(loadMs)} for the model to be loaded`])],
    ['Queue', ...(queuedMs === 0 ? [] : [`waited ${duration(queuedMs)}`])],
    ['Answer', `${decision.status} after ${duration(decision.duration_ms)}`],
  ]
  return [
    paint('bold', `Request ${plain(decision.request_id)}`),
    ...facts(about, view),
    '',
    ...candidateLines(decision, view),
    '',
    ...tryLines(decision, view),
  ]
}

const policyTexts: Record<NonNullable<DecisionRecord['policy']>, string> = {
  least_loaded: 'least_loaded: the fewest requests in flight, then unused for longest, then most free VRAM',
  round_robin: 'round_robin: each in turn',
  session: 'session: the same one for the same session, unless it is overloaded',
}

function candidateLines({ candidates, candidate_count: count }: DecisionRecord, view: View): string[] {
  if (candidates.length === 0) return ['No replica could have served it.']
  const more = count - candidates.length
  return [
    view.paint('bold', 'Candidates, with their requests in flight'),
    ...table(
      [
        { title: 'NODE', shrink: { to: 8, turn: 3 } },
        { title: 'REPLICA', shrink: { to: 8, turn: 1 } },
        { title: 'HERE', align: 'right' },
        { title: 'ELSEWHERE', align: 'right' },
        { title: 'IDLE', align: 'right' },
        { title: 'VRAM', align: 'right' },
        { title: 'LEFT OUT', shrink: { to: 12, turn: 2 } },
      ],
      candidates.map((candidate) => [
        plain(candidate.node_name),
        plain(candidate.replica_id),
        String(candidate.in_flight_here),
        String(candidate.in_flight_elsewhere),
        candidate.idle_ms === null ? 'unused' : duration(candidate.idle_ms),
        candidate.available_vram === null ? '-' : gib(candidate.available_vram),
        { text: plain(candidate.left_out ?? '-'), look: candidate.left_out === null ? 'dim' : 'yellow' },
      ]),
      { ...view, indent: INDENT },
    ),
    ...(more > 0 ? [`${' '.repeat(INDENT)}and ${more} more`] : []),
  ]
}

const outcomeLooks: Record<DecisionRecord['tries'][number]['outcome'], Look> = {
  served: 'green',
  refused: 'yellow',
  unreachable: 'red',
  'broken off': 'red',
  'client gone': 'cyan',
}

function tryLines({ tries }: DecisionRecord, view: View): string[] {
  if (tries.length === 0) return ['None was tried.']
  const rows = table(
    [
      { title: 'NODE', shrink: { to: 8, turn: 2 } },
      { title: 'REPLICA', shrink: { to: 8, turn: 1 } },
      { title: 'OUTCOME' },
      { title: 'STATUS', align: 'right' },
      { title: 'TIME', align: 'right' },
    ],
    tries.map(({ node_name: node, replica_id: replica, outcome, status, ms }) => [
      plain(node),
      plain(replica),
      { text: outcome, look: outcomeLooks[outcome] },
      status === null ? '-' : String(status),
      duration(ms),
    ]),
    { ...view, indent: INDENT },
  )
  // The titles take two lines where the table is too wide.
  const first = rows.length - tries.length
  return [
    view.paint('bold', 'Tries, in order'),
    ...rows.flatMap((line, i) => [line, ...errorLines(tries[i - first]?.error ?? null, view)]),
  ]
}

function errorLines(error: string | null, { width, paint }: View): string[] {
  if (error === null) return []
  const lines = wrap(plain(error), width - ERROR_INDENT, { breakWords: true })
  return lines.map((line) => ' '.repeat(ERROR_INDENT) + paint('red', line))
}
