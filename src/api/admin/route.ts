import { z } from 'zod'

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  /**
   * Who may call it: the holder of the admin key, or of one that may look at everything and change nothing, of a join
   * token, the node named in the path (by its signature), or anybody.
   */
  auth: 'admin' | 'read' | 'join' | 'node' | 'none'
  summary: string
  body?: z.ZodType
  /** The longest body that is taken: `MOST_BODY_BYTES` where it is not given. Routes without a key of an admin state theirs. */
  mostBodyBytes?: number
  /** What may stand after the `?`. */
  query?: z.ZodObject
  reply: z.ZodType
  /** Written as it comes instead of answered in one piece: what it may be, by content type; an event holds one of these. */
  stream?: Readonly<Record<string, z.ZodType>>
  /** The node or the gateways are asked over this; while they are away the call fails. */
  asks?: 'bus' | 'data port'
}

/** Documents of a whole cluster are as long. */
export const MOST_BODY_BYTES = 1024 * 1024

export const deleted = z.object({ deleted: z.string() })

/** Refused with 409 when what is saved was changed since; 0 says that there is none yet. Without it the last one wins. */
export const ifUnchanged = z.strictObject({
  if_updated_at: z.coerce.number('a time in milliseconds was expected').int().min(0).optional(),
})
