import { z } from 'zod'

/** `admin` is everything; `read` is to look at everything under `/api/`, and at the metrics; `inference` is `/v1/` only. */
export const keyScope = z.enum(['inference', 'read', 'admin'])
export type KeyScope = z.infer<typeof keyScope>
