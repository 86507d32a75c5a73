import { z } from 'zod'

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  /**
   * The callers that it accepts: with the admin key, with a key that may read everything, with a join token, the node named
   * in the path (by its signature), or any.
   */
  auth: 'admin' | 'read' | 'join' | 'node' | 'none'
  summary: string
  body?: z.ZodType
  /** The longest accepted body, by default `MOST_BODY_BYTES`. Routes without an admin key state their own. */
  mostBodyBytes?: number
  /** What may stand after the `?`. */
  query?: z.ZodObject
  reply: z.ZodType
  /** Written as it comes instead of answered in one piece: what it may be, by content type; an event holds one of these. */
  stream?: Readonly<Record<string, z.ZodType>>
  /** The call asks a node or the gateways; while they are away it fails. */
  asks?: 'bus' | 'data port'
}

/** Documents of a whole cluster are as long. */
export const MOST_BODY_BYTES = 1024 * 1024

export const deleted = z.object({ deleted: z.string() })

/** Refused with 409 when what is saved was changed since; 0 says that there is none yet. Without it the last one wins. */
export const ifUnchanged = z.strictObject({
  if_updated_at: z.coerce.number('a time in milliseconds was expected').int().min(0).optional(),
})
