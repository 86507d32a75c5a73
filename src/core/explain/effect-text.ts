import { holdsReplicas } from '../nodes/availability.ts'
import { printSelector } from '../nodes/selector-text.ts'
import type { LeftWithout } from '../declare/left-without.ts'
import { nearNames } from '../lib/near-names.ts'
import { labelOf, mismatchOf } from '../nodes/selector.ts'
import type { Node, Selector } from '../types.ts'

/** What follows from a change and should be known before it is made, in sentences. Pure. */

/** So many labels are listed; more are counted. */
const MOST_LABELS = 12

type Selecting = { modelName: string; nodeSelector: Selector }

/** Undefined when a node matches, or when there is no node to match. */
export function noNodeMatches({ modelName, nodeSelector }: Selecting, nodes: readonly Node[]): string | undefined {
  const all = nodes.filter(holdsReplicas)
  const keys = Object.keys(nodeSelector)
  if (keys.length === 0 || all.length === 0) return undefined
  if (all.some(({ labels }) => mismatchOf(nodeSelector, labels) === undefined)) return undefined
  const what = keys.length === 1 ? 'has that label' : 'matches all of it'
  return `The rule of ${modelName} selects ${printSelector(nodeSelector)}, and no node ${what}. ${labelsThere(keys.map(labelOf), all)}`
}

/** Those of the keys that were asked for; of a key that no node has, the near ones, or all that there are. */
function labelsThere(keys: readonly string[], nodes: readonly Node[]): string {
  const every = new Set(nodes.flatMap(({ labels }) => Object.entries(labels).map(([key, value]) => `${key}=${value}`)))
  const known = [...new Set(nodes.flatMap(({ labels }) => Object.keys(labels)))]
  const meant = new Set(keys.flatMap((key) => (known.includes(key) ? [key] : nearNames(key, known))))
  const near = [...every].filter((label) => meant.has(label.slice(0, label.indexOf('='))))
  // Each node has those that follow from the machine; they are hardly what was meant.
  const own = [...every].filter((label) => !label.startsWith('node.'))
  const shown = (near.length > 0 ? near : own).toSorted()
  if (shown.length === 0) return 'Nodes have no labels of their own.'
  const more = shown.length - MOST_LABELS
  return `Nodes have ${shown.slice(0, MOST_LABELS).join(', ')}${more > 0 ? ` and ${more} more` : ''}.`
}

export function leftText({ modelName, isReplaced }: LeftWithout): string {
  return isReplaced
    ? `${modelName} loses its last replica: its requests wait until another one is ready.`
    : `${modelName} is left without a replica that serves: no node can take one, so its requests fail.`
}
