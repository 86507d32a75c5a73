import type { z } from 'zod'
import { problemText } from '../platform/problem-text.ts'

export type Read<T> = { ok: true; value: T } | { ok: false; error: string }

/** A message that fits its schema, or what is wrong with it in at most 500 characters. */
export function readMessage<T>(schema: z.ZodType<T>, text: string): Read<T> {
  const json = parseJson(text)
  if (!json.ok) return json
  const { data, error } = schema.safeParse(json.value)
  return error ? { ok: false, error: problemText(error.issues, 'the message') } : { ok: true, value: data }
}

function parseJson(text: string): Read<unknown> {
  try {
    return { ok: true, value: JSON.parse(text) }
  } catch {
    return { ok: false, error: 'not JSON' }
  }
}
