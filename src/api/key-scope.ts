import { z } from 'zod'

/** `admin` is everything; `inference` is `/v1/` only. */
export const keyScope = z.enum(['inference', 'admin'])
export type KeyScope = z.infer<typeof keyScope>
