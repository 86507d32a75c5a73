export type LabelSource = 'admin' | 'worker' | 'auto'

export interface Label {
  key: string
  value: string
  source: LabelSource
}

export const LABEL_LIMITS = { keyChars: 100, valueChars: 200, perNode: 100 } as const

/** The label that shows the effective number of slots. Only control sets it, or it could contradict them. */
export const SLOTS_LABEL = 'node.replica-slots'

const STRENGTH: Record<LabelSource, number> = { auto: 0, worker: 1, admin: 2 }

/** One value a key: an admin's word over the worker's, the worker's over the automatic one. Sorted by key. */
export function effectiveLabels(labels: readonly Label[], slots: number): Label[] {
  const byKey = new Map<string, Label>([[SLOTS_LABEL, { key: SLOTS_LABEL, value: String(slots), source: 'auto' }]])
  for (const label of labels) {
    const other = byKey.get(label.key)
    if (label.key === SLOTS_LABEL || (other && STRENGTH[other.source] >= STRENGTH[label.source])) continue
    byKey.set(label.key, label)
  }
  return [...byKey.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1))
}

/** What is wrong with a label; undefined when it is fine. Any printable Unicode is allowed. */
export function labelProblem(key: string, value: string): string | undefined {
  if (key === SLOTS_LABEL) return `"${SLOTS_LABEL}" shows the number of slots; set max_replicas_per_model instead`
  if (key.trim() === '') return 'a label needs a key'
  if (key !== key.trim() || value !== value.trim()) return `label "${key}": no spaces at the ends`
  if (key.length > LABEL_LIMITS.keyChars)
    return `a label's key may have ${LABEL_LIMITS.keyChars} characters, this one has ${key.length}`
  if (value.length > LABEL_LIMITS.valueChars) {
    return `label "${key}": the value may have ${LABEL_LIMITS.valueChars} characters, this one has ${value.length}`
  }
  if (/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(key + value)) return `label ${JSON.stringify(key)}: no control characters`
  return undefined
}

/** Reads `k=v,k=v` as given on a command line. Returns the labels, or what is wrong. */
export function parseLabels(
  text: string,
): { ok: true; labels: Record<string, string> } | { ok: false; problem: string } {
  const labels: [string, string][] = []
  for (const part of text.split(',')) {
    if (part.trim() === '') continue
    const at = part.indexOf('=')
    if (at < 0) return { ok: false, problem: `"${part.trim()}" has no "="; expected key=value,key=value` }
    const [key, value] = [part.slice(0, at).trim(), part.slice(at + 1).trim()]
    const problem = labelProblem(key, value)
    if (problem) return { ok: false, problem }
    labels.push([key, value])
  }
  // Not by assignment: `__proto__` is a key like any other.
  return { ok: true, labels: Object.fromEntries(labels) }
}
