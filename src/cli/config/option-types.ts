import { z } from 'zod'
import { BUDGET_FORMS, parseBudget } from '../../core/nodes/budget.ts'
import { LABEL_LIMITS, labelProblem, parseLabels } from '../../core/nodes/labels.ts'
import { hostAndPort, type Address } from '../../platform/address.ts'
import { isRange } from '../../platform/address-ranges.ts'

/** Types of options. Each takes the text of a flag or variable as well as the value a YAML file holds. */

export const text = z.string().min(1, 'expected some text')

/** On the command line the flag alone means true. */
export const boolean: z.ZodType<boolean> = z.union(
  [z.boolean(), z.enum(['true', 'false']).transform((value) => value === 'true')],
  { error: 'expected true or false' },
)

export function oneOf<const T extends readonly string[]>(values: T): z.ZodType<T[number]> {
  return z.enum(values, { error: () => `expected one of ${values.join(', ')}` })
}

export function integer(min: number, max: number): z.ZodType<number> {
  const expected = `expected a whole number from ${min} to ${max}`
  return z
    .union([z.number(), z.string().regex(/^\d+$/, expected).transform(Number)], { error: expected })
    .refine((value) => Number.isInteger(value) && value >= min && value <= max, expected)
}

/** A whole number of seconds, or as Go writes durations (`90s`, `1m30s`). */
export function seconds(max: number): z.ZodType<number> {
  const expected = `expected seconds from 0 to ${max}, such as 60, or 1m30s`
  const written = z.string().transform((value, context) => {
    const match = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s?)?$/.exec(value.trim())
    const [hours = 0, minutes = 0, rest = 0] = (match ?? []).slice(1).map((part) => Number(part ?? 0))
    if (match && match[0] !== '') return hours * 3600 + minutes * 60 + rest
    context.addIssue({ code: 'custom', message: expected })
    return z.NEVER
  })
  return z
    .union([z.number(), written], { error: expected })
    .refine((value) => Number.isInteger(value) && value >= 0 && value <= max, expected)
}

/** A number from 0 to 1. */
export const share: z.ZodType<number> = z
  .union(
    [
      z.number(),
      z
        .string()
        .regex(/^(0|1|0?\.\d+|1\.0+)$/)
        .transform(Number),
    ],
    { error: 'expected a number from 0 to 1' },
  )
  .refine((value) => value >= 0 && value <= 1, 'expected a number from 0 to 1')

export const address: z.ZodType<Address> = z
  .string({ error: 'expected host:port, such as 127.0.0.1:8080' })
  .transform((value, context) => {
    const parsed = hostAndPort(value)
    if (parsed) return parsed
    context.addIssue({ code: 'custom', message: 'expected host:port, such as 127.0.0.1:8080' })
    return z.NEVER
  })

export const portRange: z.ZodType<{ from: number; to: number }> = z
  .string({ error: 'expected two ports, such as 20000-29999' })
  .transform((value, context) => {
    const match = /^(\d{1,5})-(\d{1,5})$/.exec(value)
    const range = { from: Number(match?.[1]), to: Number(match?.[2]) }
    if (match && range.from >= 1 && range.from <= range.to && range.to <= 65_535) return range
    context.addIssue({ code: 'custom', message: 'expected two ports, such as 20000-29999' })
    return z.NEVER
  })

export function url(...protocols: string[]): z.ZodType<string> {
  const expected = `expected a URL that begins with ${protocols.map((name) => `${name}://`).join(' or ')}`
  const begins = new RegExp(`^(${protocols.join('|')})://`)
  return z.string({ error: expected }).refine((value) => begins.test(value) && URL.canParse(value), expected)
}

/** Several URLs as text with commas between them, or as a list. */
export function urls(...protocols: string[]): z.ZodType<string[]> {
  const begins = protocols.map((name) => `${name}://`).join(' or ')
  const expected = `expected URLs that begin with ${begins}, separated by commas`
  const split = z.string().transform((value) => value.split(',').map((part) => part.trim()))
  const list = z.union([split, z.array(z.string())], { error: expected })
  return list
    .transform((values) => values.filter((value) => value !== '').map((value) => value.replace(/\/+$/, '')))
    .refine((values) => values.length > 0 && values.every((one) => url(...protocols).safeParse(one).success), expected)
}

const HOST_FORMS = 'expected names of hosts, addresses or ranges, such as nas.lan,192.168.0.0/16'

/** Names, addresses and ranges in CIDR, as text with commas between them or as a list. */
export const hostsAndRanges: z.ZodType<string[]> = z
  .union([z.string().transform((value) => value.split(',')), z.array(z.string())], { error: HOST_FORMS })
  .transform((values) => values.map((value) => value.trim()).filter((value) => value !== ''))
  .refine(
    (values) => values.every((one) => isRange(one) || /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?$/i.test(one)),
    HOST_FORMS,
  )

const FINGERPRINT_FORMS = 'expected sha256: and 64 hexadecimal digits, as the frontend prints it; several with commas'

/** Of certificates; with or without colons between the bytes, as other programs write them. */
export const fingerprints: z.ZodType<string[]> = z
  .string({ error: FINGERPRINT_FORMS })
  .transform((value) =>
    value.split(',').map((one) =>
      one
        .trim()
        .replace(/^sha256:/i, '')
        .replaceAll(':', '')
        .toLowerCase(),
    ),
  )
  .refine((values) => values.every((one) => /^[0-9a-f]{64}$/.test(one)), FINGERPRINT_FORMS)
  .transform((values) => values.map((one) => `sha256:${one}`))

const SIZE_FORMS = 'expected a size such as 500GB or 12GiB, or a number of bytes, at least 1 MiB'

/** Kept as text: a share becomes bytes only on a machine. */
export const budget: z.ZodType<string> = z
  .union([z.string(), z.number().transform(String)], { error: BUDGET_FORMS })
  .refine((value) => parseBudget(value) !== undefined, BUDGET_FORMS)

/** A number of bytes, however it is written. */
export const size: z.ZodType<number> = z
  .union([z.string(), z.number().transform(String)], { error: SIZE_FORMS })
  .transform((value, context) => {
    const parsed = parseBudget(value)
    if (parsed?.kind === 'bytes') return parsed.bytes
    context.addIssue({ code: 'custom', message: SIZE_FORMS })
    return z.NEVER
  })

/** `k=v,k=v`, or a map; only a map can hold a value with a comma in it. */
export const labels: z.ZodType<Record<string, string>> = z
  .union(
    [
      z.string(),
      z.record(z.string(), z.union([z.string(), z.number().transform(String), z.boolean().transform(String)])),
    ],
    {
      error: 'expected labels as key=value,key=value',
    },
  )
  .transform((value, context) => {
    const result = typeof value === 'string' ? parseLabels(value) : checkLabels(value)
    if (result.ok && Object.keys(result.labels).length <= LABEL_LIMITS.perNode) return result.labels
    context.addIssue({
      code: 'custom',
      message: result.ok ? `a node may have ${LABEL_LIMITS.perNode} labels` : result.problem,
    })
    return z.NEVER
  })

/** A value with its place, and another name that was ignored in its favour. */
export interface Located<T> {
  value: T
  where: string
  passedOver?: string | undefined
}

export function located<T>(type: z.ZodType<T>): z.ZodType<Located<T>> {
  return z.object({ value: type, where: z.string(), passedOver: z.string().optional() })
}

/** JSON as text, or a list: control checks the content. */
export const ruleList: z.ZodType<string | unknown[]> = z.union([z.string(), z.array(z.unknown())], {
  error: 'expected a list of rules',
})

function checkLabels(labels: Record<string, string>): ReturnType<typeof parseLabels> {
  for (const [key, value] of Object.entries(labels)) {
    const problem = labelProblem(key, value)
    if (problem) return { ok: false, problem }
  }
  return { ok: true, labels }
}
