import { z } from 'zod'
import { documentInput } from './document.ts'
import { needSource } from '../need-source.ts'
import { selector } from '../selector.ts'
import { modelName, printable } from './names.ts'
import { modelView } from './model-schemas.ts'
import { ruleView } from './rule-schemas.ts'

/** What would change, and what would follow, over the admin API. */

export const planInput = z.strictObject({
  document: documentInput,
  /** What the document does not list goes. */
  prune: z.boolean().default(false),
})

export const applyInput = planInput.extend({
  /** Of the plan that is applied: refused when something has changed since. Without it what is found is changed. */
  revision: z.string().max(100).optional(),
})

const change = z.object({
  /** A machine is imagined only: it is lost, or bought. */
  noun: z.enum(['model', 'rule', 'node', 'machine']),
  name: z.string(),
  action: z.enum(['add', 'change', 'remove']),
  /** Null where there is nothing. */
  fields: z.array(z.object({ field: z.string(), before: z.unknown(), after: z.unknown() })),
  /** Of a model: with another one its replicas are replaced. Null for all else. */
  revision: z.object({ before: z.string().nullable(), after: z.string().nullable() }).nullable(),
  /** What to know before it is changed; null when there is nothing. */
  warning: z.string().nullable(),
})
export type PlanChange = z.infer<typeof change>

const step = z.object({
  kind: z.enum(['start', 'stop', 'evict', 'lost']),
  /** `model#index`. */
  key: z.string(),
  model_name: z.string(),
  node_name: z.string(),
  /** What is claimed for one that is started; of the others what they held. */
  devices: z.array(z.object({ index: z.int(), bytes: z.int() })),
  ram: z.int(),
  /** Where the figure of its memory comes from; null for what is not started. */
  source: needSource.nullable(),
  /** Of files, to its node; null when that is not known. 0 for what is not started. */
  bytes_to_move: z.int().nullable(),
  /** Why it is stopped: `no model`, `old revision`, `surplus`, `selector` … */
  why: z.string().nullable(),
  /** The model that it makes room for. */
  for_model: z.string().nullable(),
})
export type PlanStep = z.infer<typeof step>

/** So many nodes are told of for each model; what more there are is counted. */
export const MOST_REFUSALS = 20

const impossible = z.object({
  model_name: z.string(),
  /** Replicas that find no place. */
  missing: z.int(),
  /** It is met, or less is missing, as things are. */
  is_new: z.boolean(),
  /** It fits as soon as others are idle. */
  is_busy: z.boolean(),
  refusals: z
    .array(
      z.object({
        node_name: z.string(),
        filter: z.string(),
        needed: z.union([z.string(), z.number()]),
        available: z.union([z.string(), z.number()]),
        where: z.string().nullable(),
      }),
    )
    .max(MOST_REFUSALS),
  more_refusals: z.int(),
  /** What would help, the cheapest first. */
  advice: z.array(z.string()),
})
export type PlanImpossible = z.infer<typeof impossible>

const leftWithout = z.object({
  model_name: z.string(),
  /** Another replica can be started; until it is ready requests wait. */
  is_replaced: z.boolean(),
})
export type LeftModel = z.infer<typeof leftWithout>

export const planView = z.object({
  /** What the plan was made for: to be given when it is applied. */
  revision: z.string(),
  changes: z.array(change),
  /** What would be done, in order, until nothing is left to do. */
  steps: z.array(step),
  /** By node; `unknown` counts replicas whose files are of unknown size. */
  moves: z.array(z.object({ node_name: z.string(), bytes: z.int(), unknown: z.int() })),
  impossible: z.array(impossible),
  /** Listed, and not in the cluster: nothing is set on them. */
  absent_nodes: z.array(z.string()),
  /** Nodes of a mass disappearance, real or imagined: their replicas are not replaced until an admin accepts the loss. */
  frozen_nodes: z.array(z.string()),
  /** False when there is more to do than was looked at. */
  is_complete: z.boolean(),
  /** Models that serve now and have no replica that serves afterwards. Missing where a frontend is older. */
  left_without: leftWithout.array().optional(),
  /** What to know before it is done, in sentences. */
  warnings: z.string().array().optional(),
})
export type PlanView = z.infer<typeof planView>

export const applied = z.object({
  /** After it. */
  revision: z.string(),
  changes: z.array(change),
  absent_nodes: z.array(z.string()),
  warnings: z.string().array().optional(),
})
export type Applied = z.infer<typeof applied>

/** A document as it is written out, with what is as usual left out. */
export const documentView = z.object({
  models: z.array(
    modelView.pick({ name: true, engine: true }).extend({
      source: z.string().optional(),
      options: modelView.shape.options.optional(),
      memory: z.object({ vram: size().optional(), ram: size().optional() }).optional(),
      anti_affinity: z.string().optional(),
    }),
  ),
  rules: z.array(ruleView.pick({ model_name: true }).extend(ruleSettings())),
  nodes: z.array(
    z.object({
      name: z.string(),
      labels: z.record(z.string(), z.string()).optional(),
      max_replicas_per_model: z.int().optional(),
      vram_budget: z.string().optional(),
      drain: z.boolean().optional(),
    }),
  ),
})
export type DocumentView = z.infer<typeof documentView>

function size() {
  return z.union([z.string(), z.int()])
}

function ruleSettings() {
  const { node_selector, min_replicas, max_replicas, spread_all, scale_to_zero_after_s, route_policy } = ruleView.shape
  return {
    node_selector: node_selector.optional(),
    min_replicas: min_replicas.optional(),
    max_replicas: max_replicas.optional(),
    spread_all: spread_all.optional(),
    scale_to_zero_after_s: scale_to_zero_after_s.optional(),
    route_policy: route_policy.optional(),
  }
}

const count = z.int('must be a whole number').min(0, 'must be at least 0').max(10_000, 'must be at most 10000')

/** Nothing of it is applied. */
export const whatIfInput = z.strictObject({
  /** By name. */
  node_lost: z.array(printable('Name of the node', 100)).max(1000).default([]),
  add_nodes: z
    .array(
      z.strictObject({
        /** `24GB`, `2x24GB`, `cpu`. */
        spec: z.string().max(50),
        name: printable('Name of the node', 100).optional(),
        labels: z.record(z.string(), z.string()).default({}),
      }),
    )
    .max(100)
    .default([]),
  /** By name. */
  drain: z.array(printable('Name of the node', 100)).max(1000).default([]),
  /** What is not named is as in the rule that there is. */
  rules: z
    .array(
      z.strictObject({
        model_name: modelName,
        min_replicas: count.optional(),
        max_replicas: count.optional(),
        spread_all: z.boolean().optional(),
        node_selector: selector.optional(),
      }),
    )
    .max(1000)
    .default([]),
})
export type WhatIfInput = z.output<typeof whatIfInput>
