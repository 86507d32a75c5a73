import type { PlanImpossible, PlanStep, PlanView } from '../../../src/api/admin/plan-schemas.ts'
import { describeRefusal } from '../../../src/core/placement/refusals.ts'
import type { RefusalFilter } from '../../../src/core/placement/types.ts'
import type { StopReason } from '../../../src/core/reconcile/plan.ts'
import { bytesText } from '../format/bytes.ts'
import { countText } from '../format/figures.ts'

export interface PlanLine {
  kind: 'start' | 'stop' | 'evict' | 'move' | 'impossible' | 'note'
  text: string
  /** What nodes say to it, each by its name. */
  nodes?: readonly { name: string; text: string }[]
  advice?: string
}

/** So many names are told in a sentence. */
const MOST_NAMES = 5
/** Of other models so many are told one by one. */
const MOST_OTHERS = 3

/** What a plan means for a model, and then what it does to others, in sentences. */
export function planLines(plan: PlanView, modelName: string): PlanLine[] {
  const mine = plan.steps.filter((step) => step.model_name === modelName)
  const moved = plan.moves.filter(({ node_name: name }) => mine.some((step) => step.node_name === name))
  return [
    ...startLines(mine),
    ...stopLines(mine),
    ...plan.steps.filter((step) => step.kind === 'evict' && step.for_model === modelName).map(evictLine),
    ...moveLines(mine.length === 0 ? [] : moved),
    ...plan.impossible.filter((one) => one.model_name === modelName).map(impossibleLine),
    ...otherLines(plan, modelName),
    ...noteLines(plan),
  ]
}

/** `ada, bert and carl`, `ada, bert, carl, dora, emil and 12 more`. */
export function namesText(names: readonly string[]): string {
  if (names.length <= 1) return names[0] ?? ''
  const told = names.slice(0, names.length > MOST_NAMES ? MOST_NAMES : -1)
  return `${told.join(', ')} and ${names.length > MOST_NAMES ? `${names.length - MOST_NAMES} more` : names.at(-1)}`
}

function startLines(steps: readonly PlanStep[]): PlanLine[] {
  const starts = steps.filter(({ kind }) => kind === 'start')
  if (starts.length === 0) return []
  const perNode = [...Map.groupBy(starts, ({ node_name: name }) => name)]
  const where = namesText(
    perNode.map(([name, some]) => (some.length === 1 || perNode.length === 1 ? name : `${name} (${some.length})`)),
  )
  const text = `Starts ${countText(starts.length, 'replica')} on ${where}`
  return [{ kind: 'start', text: `${text}${claimText(starts)}.` }]
}

/** What is claimed for each, as far as that is known. */
function claimText(starts: readonly PlanStep[]): string {
  if (starts.some(({ source }) => source === 'unknown')) return '; its memory is not known before its files are read'
  const sizes = starts.map(({ devices, ram }) => devices.reduce((sum, { bytes }) => sum + bytes, ram))
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)]
  if (most === 0) return ''
  const each = bytesText(least) === bytesText(most) ? bytesText(most) : `${bytesText(least)} to ${bytesText(most)}`
  return `, ${each} of memory${starts.length > 1 ? ' each' : ''}`
}

function stopLines(steps: readonly PlanStep[]): PlanLine[] {
  const stops = steps.filter(({ kind }) => kind === 'stop' || kind === 'lost')
  return [...Map.groupBy(stops, ({ why }) => why)].map(([why, some]) => {
    const where = namesText([...new Set(some.map(({ node_name: name }) => name))])
    // One that this version does not know is told as it came.
    const because = reasons[why as StopReason] ?? why ?? 'its node is gone'
    return { kind: 'stop', text: `Stops ${countText(some.length, 'replica')} on ${where}: ${because}.` }
  })
}

const reasons: Readonly<Record<StopReason, string>> = {
  'no model': 'its model is gone',
  'old revision': 'the model has changed',
  surplus: 'there are more than the maximum',
  selector: 'its node no longer matches',
  idle: 'it has been idle for long',
  'nobody waits': 'nobody asks for it',
}

function evictLine({ key, node_name: name }: PlanStep): PlanLine {
  return { kind: 'evict', text: `Stops ${key} on ${name} to make room.` }
}

function moveLines(moves: PlanView['moves']): PlanLine[] {
  if (moves.length === 0) return []
  const bytes = moves.reduce((sum, move) => sum + move.bytes, 0)
  const isUnknown = moves.some(({ unknown }) => unknown > 0)
  const what = bytes === 0 ? 'files of unknown size' : `${bytesText(bytes)}${isUnknown ? ' or more' : ''}`
  return [{ kind: 'move', text: `Brings ${what} to ${namesText(moves.map(({ node_name: name }) => name))}.` }]
}

function impossibleLine({ missing, is_new: isNew, is_busy: isBusy, ...one }: PlanImpossible): PlanLine {
  const finds = `${countText(missing, 'replica')} ${missing === 1 ? 'finds' : 'find'} no place`
  const more = one.more_refusals
  return {
    kind: 'impossible',
    text: `${finds}${isBusy ? ' until others are idle' : isNew ? '' : ', as it is now'}.`,
    nodes: [
      ...one.refusals.map((refusal) => ({ name: refusal.node_name, text: refusalText(refusal) })),
      ...(more > 0 ? [{ name: `${countText(more, 'node')} more`, text: '' }] : []),
    ],
    ...(one.advice[0] === undefined ? {} : { advice: one.advice[0] }),
  }
}

/** A filter that this version does not know is told by its name. */
function refusalText({ node_name: nodeName, filter, ...rest }: PlanImpossible['refusals'][number]): string {
  return describeRefusal({ nodeId: '', nodeName, filter: filter as RefusalFilter, ...rest }) ?? `refuses: ${filter}`
}

/** Others that start, stop or no longer find a place. What is only being made good for them anyway counts as well. */
function otherLines({ steps, impossible }: PlanView, modelName: string): PlanLine[] {
  const worse = impossible.filter((one) => one.model_name !== modelName && one.is_new)
  const told = worse.slice(0, MOST_OTHERS).map(({ model_name: name, missing }): PlanLine => ({
    kind: 'impossible',
    text: `${name}: ${countText(missing, 'replica')} would find no place any more.`,
  }))
  const others = steps.filter((step) => step.model_name !== modelName && step.for_model !== modelName)
  const names = [...new Set(others.map(({ model_name: name }) => name))]
  return [
    ...told,
    ...(worse.length > MOST_OTHERS
      ? [{ kind: 'impossible' as const, text: `And so for ${countText(worse.length - MOST_OTHERS, 'model')} more.` }]
      : []),
    ...(names.length > 0
      ? [{ kind: 'note' as const, text: `Other models start or stop as well: ${namesText(names)}.` }]
      : []),
  ]
}

function noteLines({ frozen_nodes: frozen, is_complete: isComplete }: PlanView): PlanLine[] {
  const notes = [
    ...(frozen.length > 0
      ? [`Nothing on ${namesText(frozen)} is replaced: they went together, which is taken for a broken network.`]
      : []),
    ...(isComplete ? [] : ['There is more to do than could be looked at.']),
  ]
  return notes.map((text) => ({ kind: 'note', text }))
}
