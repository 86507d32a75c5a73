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

/** What control reads of one heartbeat; a node with 1000 replicas sends half of it. */
export const MOST_HEARTBEAT_BYTES = 512 * 1024
