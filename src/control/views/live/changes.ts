/** What became of a list, in a form that is small when little did. */
export interface Changes<T> {
  set: T[]
  patch: Record<string, Record<string, unknown>>
  gone: string[]
}

/** Which are new, which of the others have which other fields, and which are no longer there. All items have the same fields. */
export function changesBetween<T extends object>(
  before: readonly T[],
  after: readonly T[],
  idOf: (item: T) => string,
): Changes<T> {
  const left = new Map(before.map((item) => [idOf(item), item]))
  const set: T[] = []
  const patches: [string, Record<string, unknown>][] = []
  for (const item of after) {
    const id = idOf(item)
    const old = left.get(id)
    left.delete(id)
    if (old === item) continue
    if (!old) set.push(item)
    else {
      const patch = differentFields(old, item)
      if (patch) patches.push([id, patch])
    }
  }
  // Not by assignment: a model may have any name, `__proto__` too.
  return { set, patch: Object.fromEntries(patches), gone: [...left.keys()] }
}

export function isNothing({ set, patch, gone }: Changes<unknown>): boolean {
  return set.length === 0 && gone.length === 0 && Object.keys(patch).length === 0
}

function differentFields(old: object, item: object): Record<string, unknown> | undefined {
  let patch: Record<string, unknown> | undefined
  for (const field of Object.keys(item)) {
    const value = (item as Record<string, unknown>)[field]
    if (isSame((old as Record<string, unknown>)[field], value)) continue
    patch ??= {}
    patch[field] = value
  }
  return patch
}

/** Of plain data, as JSON has it. */
export function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  for (const key of keys) {
    if (!Object.hasOwn(b, key)) return false
    if (!isSame((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key])) return false
  }
  return true
}
