import { z } from 'zod'

/** Texts that are remembered of one column, and how long they may be. */
const MOST_TEXTS = 2000
const MOST_CHARS = 16_384

/**
 * A column that holds JSON as text, parsed where it is read. Most rows are read again and again unchanged, and many have
 * the same text: equal texts give the same object, which is frozen.
 */
export const jsonText = <T extends z.ZodType>(schema: T) => {
  const known = new Map<string, z.output<T>>()
  return z.string().transform((text): z.output<T> => {
    const before = known.get(text)
    if (before !== undefined) return before
    const value = schema.parse(JSON.parse(text))
    freeze(value)
    if (known.size >= MOST_TEXTS) known.clear()
    if (text.length <= MOST_CHARS) known.set(text, value)
    return value
  })
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const part of Object.values(value)) freeze(part)
  Object.freeze(value)
}
