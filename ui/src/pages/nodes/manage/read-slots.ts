export type TypedSlots = { is: 'wrong' } | { is: 'same' } | { is: 'new'; value: number }

/** What somebody typed as the slots of a node that has `current` of them. */
export function readSlots(typed: string, current: number): TypedSlots {
  const text = typed.trim()
  const value = Number(text)
  if (text === '' || !Number.isInteger(value) || value < 1) return { is: 'wrong' }
  return value === current ? { is: 'same' } : { is: 'new', value }
}
