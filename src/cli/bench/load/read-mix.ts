import { z } from 'zod'
import { nearNames } from '../../../core/lib/near-names.ts'
import { AppError } from '../../../platform/errors.ts'
import { plain } from '../../terminal/text-width.ts'
import { pathText, readYamlFile, type YamlFile, type YamlPath } from '../../yaml-file.ts'
import { MOST } from './mix.ts'
import { settings, type Setting } from '../settings.ts'
import type { Said } from '../values.ts'

const MOST_BYTES = 256 * 1024
const MOST_TOLD = 10

const field = <T>({ read, expected }: Setting<T>) =>
  z
    .union([z.string(), z.number()], `expected ${expected}`)
    .transform((said: Said, context): T => {
      const value = read(said)
      if (value !== undefined) return value
      context.addIssue(`expected ${expected}, got "${plain(String(said))}"`)
      return z.NEVER
    })
    .optional()

const entry = z
  .strictObject({
    model: z.string('expected the name of a model').min(1, 'expected the name of a model'),
    rate: field(settings.rate),
    share: z.number('expected a number above 0').positive('expected a number above 0').optional(),
    prompt: field(settings.prompt),
    answer: field(settings.answer),
    stream: field(settings.stream),
    turns: field(settings.turns),
    think: field(settings.think),
  })
  .refine(({ rate, share }) => (rate === undefined) !== (share === undefined), 'give either rate or share')

const mix = z
  .array(entry, 'expected a list, each entry with a model and a rate or a share')
  .min(1, 'the list is empty')
  .max(MOST.models, `at most ${MOST.models} entries`)

export type MixEntry = z.infer<typeof entry>

/** Reads a mix. Each mistake is told with its file, line and place. */
export async function readMix(path: string): Promise<MixEntry[]> {
  const file = await readYamlFile(path, MOST_BYTES, 'mix of requests')
  const { data, error } = mix.safeParse(file.values)
  if (data) return data
  const told = error.issues.flatMap((issue) => describe(issue, file)).slice(0, MOST_TOLD)
  throw new AppError('usage', told.join('\n'))
}

function describe(issue: z.core.$ZodIssue, { whereIs }: YamlFile): string[] {
  if (issue.code !== 'unrecognized_keys') return [line(whereIs, issue.path, `${issue.message}.`)]
  const known = Object.keys(entry.shape)
  return issue.keys.map((key) => {
    const near = nearNames(key, known)
    const hint = near.length > 0 ? `did you mean ${near.join(' or ')}?` : `known are ${known.join(', ')}.`
    return line(whereIs, [...issue.path, key], `there is no such setting; ${hint}`)
  })
}

function line(whereIs: YamlFile['whereIs'], path: YamlPath, what: string): string {
  return `${whereIs(path)}: ${path.length === 0 ? '' : `${pathText(path)}: `}${what}`
}
