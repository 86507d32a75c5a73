import { z } from 'zod'

/** A column that holds JSON as text, parsed where it is read. */
export const jsonText = <T extends z.ZodType>(schema: T) =>
  z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(schema)
