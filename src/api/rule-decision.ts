import { z } from 'zod'

/** So many nodes are told of; what more there are is counted. */
export const MOST_TOLD_NODES = 20

/** Why a rule could not be met when it was last tried. */
export const ruleDecision = z.object({
  at: z.int(),
  /** How many replicas found no place. */
  missing: z.int(),
  /** All of it in a sentence or two, for a person. */
  reason: z.string(),
  refusals: z.array(z.object({ node_name: z.string(), text: z.string() })).max(MOST_TOLD_NODES),
  more: z.int(),
})
export type RuleDecision = z.infer<typeof ruleDecision>
