import { z } from 'zod'
import type { RuleStanding } from '../../core/explain/types.ts'
import { routePolicies } from '../../core/types.ts'
import { routePolicy } from '../route-policy.ts'
import { ruleDecision } from '../rule-decision.ts'
import { selector } from '../selector.ts'
import { modelName } from './names.ts'

const count = z.int('must be a whole number').min(0, 'must be at least 0').max(10_000, 'must be at most 10000')

const IN_A_WORD =
  'expected "all" (one on every node that matches) or "auto"; for a number use min_replicas and max_replicas'

/** A shorter time would load a model anew for almost every request. */
const LEAST_SCALE_TO_ZERO_S = 10

/** A rule as it is asked for, over the API or in the configuration. */
export const ruleInput = z
  .strictObject({
    model_name: modelName,
    node_selector: selector.default({}),
    min_replicas: count.default(0),
    max_replicas: count.default(0),
    spread_all: z.boolean('must be true or false').optional(),
    /** The same in a word, as LocalAI has it. */
    replicas: z
      .union([z.string(), z.boolean(), z.null()], IN_A_WORD)
      .refine((value) => typeof value !== 'string' || ['', 'auto', 'all'].includes(wordOf(value)), IN_A_WORD)
      .optional(),
    scale_to_zero_after_s: z
      .int('must be a whole number of seconds, or null for never')
      .min(LEAST_SCALE_TO_ZERO_S, `must be at least ${LEAST_SCALE_TO_ZERO_S}`)
      .max(365 * 86_400, 'must be at most a year')
      .nullable()
      .default(null),
    /** Empty is the default, as in LocalAI. */
    route_policy: z
      .union([routePolicy, z.literal('')], `expected one of ${routePolicies.join(', ')}`)
      .default('least_loaded'),
  })
  .superRefine((rule, context) => {
    for (const [field, message] of contradictions(rule)) {
      context.addIssue({ code: 'custom', path: [field], message })
    }
  })
  .transform(({ replicas, spread_all: spread, route_policy: policy, ...rule }) => ({
    ...rule,
    spread_all: spread ?? isAll(replicas),
    route_policy: policy === '' ? ('least_loaded' as const) : policy,
  }))
export type RuleInput = z.output<typeof ruleInput>

export const ruleView = z.object({
  model_name: z.string(),
  node_selector: z.record(z.string(), z.union([z.string(), z.array(z.string()).readonly()])),
  min_replicas: z.int(),
  max_replicas: z.int(),
  /** One replica on every node that the selector matches; minimum and maximum are 0 then. */
  spread_all: z.boolean(),
  /** Without a request for so long not one replica is kept; null keeps the last one. */
  scale_to_zero_after_s: z.int().nullable(),
  route_policy: routePolicy,
  /** `config`: each start of a frontend that lists it in its configuration makes it again as it is there. */
  source: z.enum(['api', 'config']),
  /** What to know before it is changed; null when there is nothing. */
  warning: z.string().nullable(),
  state: z.enum(['met', 'starting', 'unmet', 'cooling']),
  /** Why it is not met, for a person; null when it is. */
  reason: z.string().nullable(),
  /** Replicas that it asks for as things are, those that there are, and those that serve. */
  wanted: z.int(),
  replicas: z.int(),
  ready: z.int(),
  /** It is not tried again before that time: it could not be met so many times in a row. */
  unsatisfiable_until: z.int().nullable(),
  unsatisfiable_ticks: z.int(),
  /** Why it could not be met when it was last tried; null when it could, or it has not been tried. */
  last_decision: ruleDecision.nullable(),
  updated_at: z.int(),
}) satisfies z.ZodType<RuleStanding>
export type RuleView = z.infer<typeof ruleView>

interface Asked {
  min_replicas: number
  max_replicas: number
  spread_all?: boolean | undefined
  replicas?: string | boolean | null | undefined
  scale_to_zero_after_s: number | null
}

/** Fields that cannot be true beside others, and why. */
function contradictions(rule: Asked): [field: string, message: string][] {
  const { min_replicas: min, max_replicas: max, spread_all: spread, replicas, scale_to_zero_after_s: idleS } = rule
  const found: [string, string][] = []
  const isSpread = spread ?? isAll(replicas)
  if (spread === false && isAll(replicas)) found.push(['replicas', '"all" contradicts spread_all: false'])
  if (isSpread && (min > 0 || max > 0)) {
    const field = spread ? 'spread_all' : 'replicas'
    found.push([field, 'is mutually exclusive with min_replicas and max_replicas: leave those out'])
  }
  if (isSpread && idleS !== null) {
    found.push(['scale_to_zero_after_s', 'is mutually exclusive with one replica on every node'])
  }
  if (min > 0 && idleS !== null) {
    found.push(['scale_to_zero_after_s', 'contradicts min_replicas, which are kept without any request: set that to 0'])
  }
  if (max > 0 && max < min) found.push(['max_replicas', 'must be 0 (no cap) or at least min_replicas'])
  return found
}

function isAll(replicas: Asked['replicas']): boolean {
  return replicas === true || (typeof replicas === 'string' && wordOf(replicas) === 'all')
}

function wordOf(text: string): string {
  return text.trim().toLowerCase()
}
