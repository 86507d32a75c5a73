import type { NodeExplanation } from '../../../../src/api/admin/explain-schemas.ts'
import { bytesText } from '../../format/bytes.ts'
import { linkTo } from '../../links.ts'
import type { PillTone } from '../../parts/pill.tsx'
import type { Reason } from './reason.ts'

const TONES: Record<NodeExplanation['status'], PillTone> = {
  healthy: 'ok',
  draining: 'warn',
  pending: 'warn',
  unhealthy: 'bad',
  offline: 'bad',
}

/** What a node has left and which models it would take, as a tree. */
export function nodeReasons(why: NodeExplanation): Reason[] {
  const [answer, ...rest] = why.text
  const state: Reason = {
    text: answer ?? why.node_name,
    verdict: { text: why.status, tone: TONES[why.status] },
    children: rest.map((text) => ({ text })),
  }
  const room: Reason = {
    text: 'What it has left',
    children: [
      ...why.devices.map((device) => ({ text: `GPU ${device.index} (${device.name}): ${roomText(device)}` })),
      ...(why.ram === null ? [] : [{ text: `RAM: ${roomText(why.ram)}` }]),
    ],
  }
  const takes = why.models.filter(({ refusal }) => refusal === null)
  const refuses = why.models.filter(({ refusal }) => refusal !== null)
  return [
    state,
    room,
    { text: `Models that it would take (${takes.length})`, children: takes.map(modelReason) },
    { text: `Models that it would not take (${refuses.length})`, children: refuses.map(modelReason) },
  ]
}

function roomText({ total, used, claimed, free }: NonNullable<NodeExplanation['ram']>): string {
  return [
    `${bytesText(free)} free of ${bytesText(total)}`,
    used === null ? 'in use: not known' : `${bytesText(used)} in use`,
    ...(claimed > 0 ? [`${bytesText(claimed)} reserved`] : []),
  ].join(' · ')
}

function modelReason({ model_name: name, replicas, refusal }: NodeExplanation['models'][number]): Reason {
  return {
    text: name,
    to: linkTo.whyModel(name),
    children: [
      ...replicas.map(({ key, state }) => ({ text: `${key} is ${state} here` })),
      ...(refusal === null ? [] : [{ text: refusal.text }]),
    ],
  }
}
