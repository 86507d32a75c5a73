import { describeRefusal } from '../placement/refusals.ts'
import { refusalFilters, type Advice, type Refusal } from '../placement/types.ts'

/** Why no node takes a model, in a few words: the nodes that came closest first, one of each kind with its numbers. */
export function summarise(refusals: readonly Refusal[], advice: readonly Advice[]): string {
  if (refusals.length === 0) return 'There are no nodes: "flotilla token" shows how a machine joins.'
  const groups = [...Map.groupBy(refusals, ({ filter }) => filter).values()]
  const texts = groups.toSorted((a, b) => passed(b[0]!) - passed(a[0]!)).map(describeGroup)
  const [best] = advice
  return `No node can take it: ${texts.join('; ')}.${best ? ` What would help: ${best.text}.` : ''}`
}

/** Filters are applied in order: the later one is refused, the closer it was. */
function passed({ filter }: Refusal): number {
  return refusalFilters.indexOf(filter)
}

function describeGroup(group: readonly Refusal[]): string {
  const closest = group.toSorted((a, b) => short(a) - short(b))[0]!
  const more = group.length - 1
  const likewise = more === 0 ? '' : `, and ${more} more like it`
  return `${closest.nodeName} ${describeRefusal(closest)}${likewise}`
}

function short({ needed, available }: Refusal): number {
  return typeof needed === 'number' && typeof available === 'number' ? needed - available : 0
}
