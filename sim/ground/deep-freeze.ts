/** So that no process can change what another holds. What is frozen already is not looked into again. */
export function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  Object.freeze(value)
  if (Array.isArray(value)) {
    for (const one of value) deepFreeze(one)
    return
  }
  for (const key in value) deepFreeze((value as Record<string, unknown>)[key])
}
