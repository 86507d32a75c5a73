/** What a selector asks for and what a node has instead. */
export interface Mismatch {
  needed: string
  available: string
}

/** The first pair of a selector that the labels of a node do not have; undefined when they have all of them. */
export function mismatchOf(
  selector: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>>,
): Mismatch | undefined {
  for (const [key, value] of Object.entries(selector)) {
    // Not by `in`: every object has a `constructor`, and that is no label.
    const has = Object.hasOwn(labels, key) ? labels[key] : undefined
    if (has === value) continue
    return { needed: `${key}=${value}`, available: has === undefined ? `no label ${key}` : `${key}=${has}` }
  }
  return undefined
}
