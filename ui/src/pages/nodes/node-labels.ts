import type { NodeView } from '../../../../src/api/admin/schemas.ts'

/** Shows the number of slots, which has a place of its own everywhere. */
const SLOTS_LABEL = 'node.replica-slots'
/** Says again what stands above it. */
const NAME_LABEL = 'node.name'

const MOST_SHOWN = 5
/** A key with more values than this names nodes one by one: the search finds those better than a list. */
const MOST_VALUES = 20

const STRENGTH = { admin: 0, worker: 1, auto: 2 } as const

type Labelled = Pick<NodeView, 'labels' | 'label_sources'>

/** The labels of a node without that of the slots: those that somebody has set first. */
export function labelsOf({ labels, label_sources: sources }: Labelled): [key: string, value: string][] {
  const strength = (key: string): number => STRENGTH[sources[key] ?? 'auto']
  return Object.entries(labels)
    .filter(([key]) => key !== SLOTS_LABEL)
    .toSorted(([a], [b]) => strength(a) - strength(b))
}

/** Those there is room for in a row below the name, and how many are left. */
export function firstLabels(node: Labelled): { shown: [string, string][]; more: [string, string][] } {
  const all = labelsOf(node).filter(([key]) => key !== NAME_LABEL)
  return { shown: all.slice(0, MOST_SHOWN), more: all.slice(MOST_SHOWN) }
}

/** All keys that nodes have, each with all its values, in order. */
export function knownLabels(nodes: readonly Labelled[]): Record<string, string[]> {
  const known = new Map<string, Set<string>>()
  for (const node of nodes) {
    for (const [key, value] of labelsOf(node)) {
      const values = known.get(key)
      if (values) values.add(value)
      else known.set(key, new Set([value]))
    }
  }
  const sorted = [...known].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(sorted.map(([key, values]) => [key, [...values].toSorted()]))
}

/** What a list of labels to choose from offers: keys, and those of their values that are few enough. */
export function labelChoices(nodes: readonly Labelled[]): { key: string; values: string[] }[] {
  return Object.entries(knownLabels(nodes)).map(([key, values]) => ({
    key,
    values: values.length > MOST_VALUES ? [] : values,
  }))
}
