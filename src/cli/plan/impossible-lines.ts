import type { PlanImpossible } from '../../api/admin/plan-schemas.ts'
import { describeRefusal } from '../../core/placement/refusals.ts'
import type { RefusalFilter } from '../../core/placement/types.ts'
import type { View } from '../client.ts'
import { counted } from '../terminal/format.ts'
import { plain } from '../terminal/text-width.ts'
import { wrap } from '../terminal/wrap.ts'

/** So many models, and of each so many nodes, are told of. */
const MOST_MODELS = 20
const MOST_NODES = 3
const INDENT = '  '

/** Each model without a place, the reasons of the closest nodes, and the remedy. */
export function impossibleLines(impossible: readonly PlanImpossible[], view: View): string[] {
  const newFirst = impossible.toSorted((a, b) => Number(b.is_new) - Number(a.is_new))
  const more = impossible.length - MOST_MODELS
  return [
    ...newFirst.slice(0, MOST_MODELS).flatMap((one) => linesOf(one, view)),
    ...(more > 0 ? [`${INDENT}and ${counted(more, 'model')} more; --json shows all`] : []),
  ]
}

function linesOf(one: PlanImpossible, { width, paint }: View): string[] {
  const { model_name: name, missing, is_new: isNew, is_busy: isBusy, advice, refusals } = one
  const finds = `${counted(missing, 'replica')} ${missing === 1 ? 'finds' : 'find'} no place`
  const when = isBusy ? ', until others are idle' : isNew ? '' : ', as now'
  const told = refusals.slice(0, MOST_NODES)
  const more = refusals.length - told.length + one.more_refusals
  const below = [
    ...told.map((refusal) => `${refusal.node_name} ${textOf(refusal)}`),
    ...(more > 0 ? [`and ${counted(more, 'node')} more`] : []),
    ...(advice.length > 0 ? [`What would help: ${advice[0]!}`] : []),
  ]
  const lines = (text: string, indent: string): string[] =>
    wrap(plain(text), width - indent.length, { breakWords: true }).map((line) => indent + line)
  return [
    ...lines(`${name}: ${finds}${when}`, INDENT).map((line) => paint(isNew && !isBusy ? 'red' : 'yellow', line)),
    ...below.flatMap((text) => lines(text, INDENT + INDENT)),
  ]
}

/** A filter that this version does not know is shown by its name. */
function textOf({ node_name: nodeName, filter, ...rest }: PlanImpossible['refusals'][number]): string {
  return describeRefusal({ nodeId: '', nodeName, filter: filter as RefusalFilter, ...rest }) ?? `refuses: ${filter}`
}
