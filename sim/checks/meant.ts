import type { SimStore } from '../ground/sim-store.ts'

/**
 * Whether a rule's replicas may be on a node with these labels. Written apart from core/placement on purpose: rules of the
 * simulator ask for a plain value, or for anything but that.
 */
export function isMeant(selector: string, labels: Readonly<Record<string, string>>): boolean {
  return Object.entries(JSON.parse(selector) as Record<string, unknown>).every(([key, value]) => {
    const text = String(value)
    return text.startsWith('!') ? labels[key] !== text.slice(1) : labels[key] === text
  })
}

const STRONGER = ['auto', 'worker', 'admin']

export function labelsOf(store: SimStore, nodeId: string): Record<string, string> {
  const rows = store.read<{ key: string; value: string; source: string }>(
    'select key, value, source from node_labels where node_id = $1',
    [nodeId],
  )
  rows.sort((a, b) => STRONGER.indexOf(a.source) - STRONGER.indexOf(b.source))
  return Object.fromEntries(rows.map(({ key, value }) => [key, value]))
}
