import type { ModelExplanation } from '../../../../src/api/admin/model-schemas.ts'
import { hasAllWanted } from '../../../../src/core/lib/has-all-wanted.ts'
import { bytesText } from '../../format/bytes.ts'
import { countText, durationText } from '../../format/figures.ts'
import { exactText } from '../../format/time.ts'
import { linkTo } from '../../links.ts'
import type { PillTone } from '../../parts/pill.tsx'
import type { Reason } from './reason.ts'

const TONES: Record<ModelExplanation['status']['state'], PillTone> = {
  ready: 'ok',
  loading: 'busy',
  waiting: 'warn',
  refused: 'bad',
  failed: 'bad',
  stopped: 'idle',
  unknown: 'idle',
}

/** Why a model runs where it runs, and not elsewhere, as a tree. */
export function modelReasons(why: ModelExplanation): Reason[] {
  return [status(why), wanted(why), ...running(why), next(why), ...memory(why), ...elsewhere(why), ...before(why)]
}

function status({ model_name: name, status: { state, reason, next_attempt_at: again } }: ModelExplanation): Reason {
  const children: Reason[] = [
    ...(reason === null ? [] : [{ text: reason }]),
    ...(again === null ? [] : [{ text: `Tried again by itself at ${exactText(again)}.` }]),
  ]
  return { text: name, to: linkTo.model(name), verdict: { text: state, tone: TONES[state] }, children }
}

function wanted({ wanted, wanted_since: since, model_name: name }: ModelExplanation): Reason {
  const waiting = since === null ? [] : [{ text: `Somebody has been waiting for it since ${exactText(since)}.` }]
  if (!wanted) return { text: 'No rule asks for it: it is loaded when somebody asks.', children: waiting }
  const most = wanted.max === 0 ? 'no upper limit' : `at most ${wanted.max}`
  return { text: `Its rule asks for at least ${wanted.min}, ${most}.`, to: linkTo.rule(name), children: waiting }
}

function running({ nodes }: ModelExplanation): Reason[] {
  const children = nodes
    .filter(({ replicas }) => replicas.length > 0)
    .map(({ node_id: id, node_name: node, replicas }) => ({
      text: node,
      to: linkTo.node(id),
      children: replicas.map((replica) => ({
        text: [
          replica.key,
          `${replica.in_flight} in flight`,
          `${bytesText(replica.claimed)} claimed`,
          ...(replica.measured === null ? [] : [`${bytesText(replica.measured)} measured`]),
          ...(replica.is_current ? [] : ['of an older revision']),
          ...(replica.error === null ? [] : [replica.error]),
        ].join(' · '),
        to: linkTo.logs(id, replica.key),
        verdict: { text: replica.state, tone: replicaTone(replica.state) },
      })),
    }))
  return children.length === 0 ? [] : [{ text: 'Where it is', children }]
}

function replicaTone(state: string): PillTone {
  if (state === 'ready') return 'ok'
  if (state === 'failed') return 'bad'
  return state === 'draining' || state === 'stopping' ? 'warn' : 'busy'
}

function next(why: ModelExplanation): Reason {
  const { next, advice } = why
  if (!next) {
    const children = advice.map((text) => ({ text }))
    if (hasAllWanted(why)) {
      const more = { text: 'One more would find no room, and none is asked for.', isFolded: true, children }
      return {
        text: 'It has all the replicas that are asked for.',
        verdict: { text: 'met', tone: 'ok' },
        children: [more],
      }
    }
    return { text: 'No node can take one more.', verdict: { text: 'no room', tone: 'warn' }, children }
  }
  const devices = next.devices.length === 0 ? '' : ` on GPU ${next.devices.join(', ')}`
  const victims = next.victims.map((key) => ({ text: `${key} would be stopped for it.` }))
  return { text: `The next replica would go to ${next.node_name}${devices}.`, children: victims }
}

const SOURCES = {
  explicit: 'set by hand',
  learned: 'measured before',
  computed: 'from its files',
  unknown: 'not known',
}

function memory({ memory }: ModelExplanation): Reason[] {
  if (memory.length === 0) return []
  const children = memory.map(({ device_kind: kind, vram, ram, source, parts }) => ({
    text: `On ${kind}: ${bytesText(vram)} VRAM, ${bytesText(ram)} RAM (${SOURCES[source]})`,
    isFolded: true,
    children: Object.entries(parts ?? {}).map(([part, bytes]) => ({
      text: `${part.replaceAll('_', ' ')}: ${bytesText(bytes)}`,
    })),
  }))
  return [{ text: 'What one replica takes', children }]
}

/** Nodes that would not take one more, each with its reason. */
function elsewhere({ nodes }: ModelExplanation): Reason[] {
  const refusing = nodes.filter(({ refusal }) => refusal !== null)
  if (refusing.length === 0) return []
  const children = refusing.map(({ node_id: id, node_name: node, refusal }) => ({
    text: `${node}: ${refusal!.text}`,
    to: linkTo.whyNode(id),
  }))
  const text = `Why not (one more) on ${countText(refusing.length, 'node')}`
  return [{ text, children, isFolded: refusing.length > MOST_OPEN }]
}

const MOST_OPEN = 12

function before({ last_decision: decision, last_load: load }: ModelExplanation): Reason[] {
  const children: Reason[] = [
    ...(decision === null ? [] : [{ text: `${exactText(decision.at)}: ${decision.action}. ${decision.reason}` }]),
    ...(load === null
      ? []
      : [{ text: `Last loaded ${exactText(load.at)} on ${load.node_name}, in ${durationText(load.ms)}.` }]),
  ]
  return children.length === 0 ? [] : [{ text: 'What was decided last', children }]
}
