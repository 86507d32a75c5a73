import { z } from 'zod'

/**
 * Bounds on what one field of a message holds. They are far above what Flotilla itself sends, since a message that breaks
 * one is refused as a whole; a sender cuts its texts long before (`core/lib/cut-text.ts`). `api/bus/bounds.test.ts` fails
 * when a text, a list or a record of a message has no bound.
 */

/** An id, a name, a key, an address. */
export const label = z.string().max(1000)

/** A path, a URL, the value of an option. */
export const longLabel = z.string().max(8192)

/** A sentence or an error: 20 last lines of an engine with 8192 characters each fit. */
export const prose = z.string().max(262_144)

/** A record of at most `most` entries. */
export function boundedRecord<K extends z.core.$ZodRecordKey, V extends z.ZodType>(key: K, value: V, most: number) {
  return z
    .record(key, value)
    .refine((entries) => Object.keys(entries).length <= most, `must have at most ${most} entries`)
    .meta({ maxProperties: most })
}

interface LongBound {
  most: number
  parts: readonly z.core.$ZodType[]
}

/** The schemas inside the lists and records below, for the test that looks for bounds. */
export const longBounds = new WeakMap<z.core.$ZodType, LongBound>()

/**
 * A list that may be long, read up to its first mistake: a list of ten thousand empty objects would otherwise make sixty
 * thousand problems, which takes a quarter of a second.
 */
export function longList<T extends z.ZodType>(element: T, most: number) {
  const schema = z.unknown().transform((value, context): z.output<T>[] => {
    if (!Array.isArray(value) || value.length > most) return wrong(context, `must be a list of at most ${most}`)
    const list: z.output<T>[] = []
    for (let i = 0; i < value.length; i += 1) {
      const { data, error } = element.safeParse(value[i])
      if (error) return wrong(context, error.issues[0]!.message, [i, ...error.issues[0]!.path])
      list.push(data)
    }
    return list
  })
  longBounds.set(schema, { most, parts: [element] })
  return schema
}

/** A record that may be long, read up to its first mistake. */
export function longRecord<V extends z.ZodType>(value: V, most: number) {
  const entry = z.tuple([label, value])
  const schema = z.unknown().transform((given, context): Record<string, z.output<V>> => {
    const isRecord = typeof given === 'object' && given !== null && !Array.isArray(given)
    const entries = isRecord ? Object.entries(given) : []
    if (!isRecord || entries.length > most) return wrong(context, `must be an object of at most ${most} entries`)
    const read: [string, z.output<V>][] = []
    for (const one of entries) {
      const { data, error } = entry.safeParse(one)
      if (error) return wrong(context, error.issues[0]!.message, [one[0], ...error.issues[0]!.path.slice(1)])
      read.push(data as [string, z.output<V>])
    }
    return Object.fromEntries(read)
  })
  longBounds.set(schema, { most, parts: [label, value] })
  return schema
}

function wrong(context: z.RefinementCtx, message: string, path: PropertyKey[] = []): never {
  context.addIssue({ code: 'custom', message, path })
  return z.NEVER
}

/** What control reads of one heartbeat; a node with 1000 replicas sends half of it. */
export const MOST_HEARTBEAT_BYTES = 512 * 1024
