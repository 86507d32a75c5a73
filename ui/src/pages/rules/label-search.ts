import type { NodeView } from '../../../../src/api/admin/schemas.ts'
import { SLOTS_LABEL } from '../../../../src/core/nodes/labels.ts'

type Labelled = Pick<NodeView, 'id' | 'name' | 'labels'>

/** The labels that people know of: the slots are shown elsewhere. */
export function shownLabels({ labels }: Pick<NodeView, 'labels'>): [key: string, value: string][] {
  return Object.entries(labels).filter(([key]) => key !== SLOTS_LABEL)
}

/** Known keys with all their values, to be suggested. */
export function knownLabels(nodes: readonly Pick<NodeView, 'labels'>[]): Record<string, string[]> {
  const known = new Map<string, Set<string>>()
  for (const node of nodes) {
    for (const [key, value] of shownLabels(node)) known.set(key, (known.get(key) ?? new Set()).add(value))
  }
  const entries = [...known].map(([key, values]): [string, string[]] => [key, [...values].toSorted()])
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** By name, id, key, value or `key=value`, whatever the case; letters may be left out. */
export function findLabelled<T extends Labelled>(nodes: readonly T[], query: string): readonly T[] {
  const wanted = query.trim().toLowerCase()
  if (wanted === '') return nodes
  return nodes.filter((node) => {
    const texts = [node.name, node.id, ...shownLabels(node).map(([key, value]) => `${key}=${value}`)]
    return texts.some((text) => hasInOrder(text.toLowerCase(), wanted))
  })
}

function hasInOrder(text: string, wanted: string): boolean {
  let at = 0
  for (const letter of wanted) {
    at = text.indexOf(letter, at) + 1
    if (at === 0) return false
  }
  return true
}
