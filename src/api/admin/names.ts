import { z } from 'zod'

/** What goes into URLs, keys and log lines: anything printable of a sane length. */
export const printable = (what: string, most: number) =>
  z
    .string()
    .min(1, 'must not be empty')
    .max(most, `must be at most ${most} characters`)
    .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]+$/u, 'must not contain control characters')
    .refine((text) => text.trim() === text, 'must not begin or end with a space')
    .describe(what)

export const modelName = printable('Name of a model', 200)
