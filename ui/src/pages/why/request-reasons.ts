import type { DecisionRecord } from '../../../../src/api/decision-record.ts'
import { bytesText } from '../../format/bytes.ts'
import { countText, durationText } from '../../format/figures.ts'
import { exactText, spanText } from '../../format/time.ts'
import { linkTo } from '../../links.ts'
import type { Reason } from './reason.ts'

const POLICIES: Record<NonNullable<DecisionRecord['policy']>, string> = {
  least_loaded: 'fewest requests in flight, then unused for longest, then most free VRAM',
  round_robin: 'each in turn',
  session: 'the same one for the same session, unless it is overloaded',
}

/** How a request found its replica, as a tree. */
export function requestReasons(record: DecisionRecord): Reason[] {
  const { status, duration_ms: ms, model, policy, key_id: key } = record
  const isOk = status < 400
  return [
    {
      text: `${record.method} ${record.path} at ${exactText(record.at)}, ${durationText(ms)}`,
      verdict: { text: String(status), tone: isOk ? 'ok' : 'bad' },
      children: [
        ...(model === null
          ? [{ text: 'It named no model.' }]
          : [{ text: `Model ${model}`, to: linkTo.whyModel(model) }]),
        { text: `Gateway ${record.gateway}` },
        { text: key === null ? 'No key was needed.' : `Key ${key}` },
        ...(record.load_wait_ms > 0
          ? [{ text: `Waited ${durationText(record.load_wait_ms)} for the model to be loaded.` }]
          : []),
        ...(record.queued_ms > 0 ? [{ text: `Waited ${durationText(record.queued_ms)} for a turn.` }] : []),
      ],
    },
    { text: `Tries (${record.tries.length})`, children: record.tries.map(tryReason) },
    {
      text: `Candidates (${record.candidate_count})${policy === null ? '' : `: ${POLICIES[policy]}`}`,
      children: [
        ...record.candidates.map(candidateReason),
        ...(record.candidate_count > record.candidates.length
          ? [{ text: `and ${countText(record.candidate_count - record.candidates.length, 'further one')}` }]
          : []),
      ],
    },
  ]
}

function tryReason({
  node_name: node,
  replica_id: id,
  outcome,
  status,
  error,
  ms,
}: DecisionRecord['tries'][number]): Reason {
  const answered = status === null ? '' : `, answered ${status}`
  return {
    text: `${node}, replica ${id}: ${durationText(ms)}${answered}`,
    verdict: { text: outcome, tone: outcome === 'served' ? 'ok' : outcome === 'client gone' ? 'idle' : 'bad' },
    children: error === null ? [] : [{ text: error }],
  }
}

function candidateReason(one: DecisionRecord['candidates'][number]): Reason {
  const text = [
    one.node_name,
    `${one.in_flight_here + one.in_flight_elsewhere} in flight`,
    one.idle_ms === null ? 'never used here' : `idle for ${spanText(one.idle_ms / 1000)}`,
    ...(one.available_vram === null ? [] : [`${bytesText(one.available_vram)} VRAM free`]),
  ].join(' · ')
  return one.left_out === null ? { text } : { text, verdict: { text: `left out: ${one.left_out}`, tone: 'warn' } }
}
