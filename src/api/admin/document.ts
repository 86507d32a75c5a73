import { z } from 'zod'
import { parseBytes } from '../../core/lib/bytes.ts'
import { BUDGET_FORMS, parseBudget } from '../../core/nodes/budget.ts'
import { LABEL_LIMITS, labelProblem } from '../../core/nodes/labels.ts'
import { modelInput } from './model-schemas.ts'
import { printable } from './names.ts'
import { ruleInput } from './rule-schemas.ts'

/** All that one document may declare: models, rules, and settings of nodes. */

const MOST_MODELS = 10_000
const MOST_RULES = 10_000
const MOST_NODES = 10_000

const labels = z
  .record(z.string(), z.string('must be text; a number needs quotes'), 'must be labels, as in {"tier": "fast"}')
  .superRefine((given, context) => {
    const entries = Object.entries(given)
    if (entries.length > LABEL_LIMITS.perNode) {
      context.addIssue({ code: 'custom', message: `a node may have ${LABEL_LIMITS.perNode} labels` })
    }
    for (const [key, value] of entries) {
      const message = labelProblem(key, value)
      if (message !== undefined) context.addIssue({ code: 'custom', message })
    }
  })

const budget = z
  .union([z.string(), z.int().positive()], BUDGET_FORMS)
  .refine((value) => parseBudget(String(value)) !== undefined, BUDGET_FORMS)

/** What is set on a node over the word of its worker. What is not named stays; null takes back what was set. */
export const nodeInput = z.strictObject({
  name: printable('Name of the node', 100),
  /** In place of all labels that an admin has set. */
  labels: labels.nullable().optional(),
  max_replicas_per_model: z
    .int('must be a whole number')
    .min(1, 'must be at least 1')
    .max(1000, 'must be at most 1000')
    .nullable()
    .optional(),
  vram_budget: budget.nullable().optional(),
  drain: z.boolean('must be true or false').optional(),
})

const model = modelInput.superRefine(({ memory }, context) => {
  for (const field of ['vram', 'ram'] as const) {
    const size = memory?.[field]
    if (size === undefined || parseBytes(String(size)) !== undefined) continue
    const message = `"${size}" is no size: expected text such as "12GiB", or a number of bytes`
    context.addIssue({ code: 'custom', path: ['memory', field], message })
  }
})

/** A heading with nothing below it is an empty list. */
const listOf = <T extends z.ZodType>(one: T, most: number) =>
  z
    .array(one, 'must be a list')
    .max(most, `may have ${most} entries`)
    .nullish()
    .transform((list) => list ?? [])

export const documentInput = z
  .strictObject({
    models: listOf(model, MOST_MODELS),
    rules: listOf(ruleInput, MOST_RULES),
    nodes: listOf(nodeInput, MOST_NODES),
  })
  .superRefine(({ models, rules, nodes }, context) => {
    const twice = [
      ...repeated(
        'models',
        'name',
        models.map(({ name }) => name),
      ),
      ...repeated(
        'rules',
        'model_name',
        rules.map(({ model_name: name }) => name),
      ),
      ...repeated(
        'nodes',
        'name',
        nodes.map(({ name }) => name),
      ),
    ]
    for (const { path, message } of twice) context.addIssue({ code: 'custom', path, message })
  })
export type DocumentInput = z.output<typeof documentInput>

function repeated(section: string, field: string, names: readonly string[]) {
  return names.flatMap((name, i) => {
    const first = names.indexOf(name)
    if (first === i) return []
    return [
      { path: [section, i, field], message: `"${name}" is listed already, as entry ${first + 1}: keep one of them` },
    ]
  })
}
