import { z } from 'zod'
import { parseBytes } from '../../core/lib/bytes.ts'

/** The limits of each engine; a limit that is not set does not apply. */
export interface EngineLimits {
  memoryBytes?: number
  files?: number
  processes?: number
  nice?: number
}

const FORMS = 'expected limits such as memory=32GiB,files=4096,processes=512,nice=5'

/** `name=value` with commas between them, or a map. */
export const engineLimits: z.ZodType<EngineLimits> = z
  .union([z.string(), z.record(z.string(), z.union([z.string(), z.number().transform(String)]))], { error: FORMS })
  .transform((given, context) => {
    const limits: EngineLimits = {}
    for (const [name, value] of typeof given === 'string' ? pairsOf(given) : Object.entries(given)) {
      const problem = take(limits, name, value)
      if (problem === undefined) continue
      context.addIssue({ code: 'custom', message: problem })
      return z.NEVER
    }
    return limits
  })

/** A name of a user, or a number, and a group after a colon. */
export const userAndGroup: z.ZodType<string> = z
  .string({ error: 'expected user or user:group' })
  .regex(/^[a-z_][\w.-]{0,31}(?::[a-z_][\w.-]{0,31})?$/i, 'expected user or user:group, by their names')

function pairsOf(text: string): [string, string][] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      const at = part.indexOf('=')
      return at < 0 ? [part, ''] : [part.slice(0, at).trim(), part.slice(at + 1).trim()]
    })
}

/** An error message; undefined when the value was accepted. */
function take(limits: EngineLimits, name: string, value: string): string | undefined {
  const number = /^\d{1,9}$/.test(value) ? Number(value) : undefined
  if (name === 'memory') {
    const bytes = parseBytes(value)
    if (bytes === undefined || bytes < LEAST_MEMORY_BYTES)
      return 'memory: expected a size of 64MiB at least, such as 32GiB'
    limits.memoryBytes = bytes
  } else if (name === 'files') {
    if (number === undefined || number < 64) return 'files: expected how many may be open, 64 at least'
    limits.files = number
  } else if (name === 'processes') {
    if (number === undefined || number < 8) return 'processes: expected how many there may be, 8 at least'
    limits.processes = number
  } else if (name === 'nice') {
    if (number === undefined || number > 19) return 'nice: expected 0 to 19, where 19 yields to every other process'
    limits.nice = number
  } else return `${name}: there is no such limit; ${FORMS}`
  return undefined
}

const LEAST_MEMORY_BYTES = 64 * 2 ** 20
