import { z } from 'zod'
import type * as explain from '../../core/explain/types.ts'
import { modelView } from './model-schemas.ts'
import { nodeView } from './schemas.ts'

/** The whole cluster in one answer. */

export const problem = z.object({
  kind: z.enum(['cluster', 'store', 'gateway', 'process', 'frozen', 'node', 'approval', 'rule', 'replica']),
  /** An error: something that was asked for is missing. A warning waits for an admin, or will mend itself. */
  severity: z.enum(['error', 'warning']),
  node_id: z.string().nullable(),
  node_name: z.string().nullable(),
  /** Of the replica that it is about. */
  key: z.string().nullable(),
  model_name: z.string().nullable(),
  /** What is wrong and why, for a person. */
  text: z.string(),
  /** What would help most; null when unknown. */
  advice: z.string().nullable(),
}) satisfies z.ZodType<explain.Problem>
export type Problem = z.infer<typeof problem>

export const clusterView = z.object({
  nodes: z.array(
    nodeView.pick({
      id: true,
      name: true,
      node_type: true,
      status: true,
      replica_count: true,
      in_flight_count: true,
      total_vram: true,
      available_vram: true,
      total_ram: true,
      available_ram: true,
    }),
  ),
  models: z.array(
    z.object({
      name: z.string(),
      /** `undefined`: there is a rule for it, and no such model. */
      state: z.enum([...modelView.shape.state.options, 'undefined']),
      /** What its rule asks for as things are; null without a rule. */
      wanted: z.int().nullable(),
      ready: z.int(),
      replicas: z.int(),
      in_flight: z.int(),
    }),
  ),
  /** Whether programs on the machine of this frontend need no key for inference there. */
  local_inference: z.boolean().optional(),
  /** What is wrong, the worst first. */
  problems: z.array(problem),
})
export type ClusterView = z.infer<typeof clusterView>
