import { z } from 'zod'
import { nodeView } from './schemas.ts'

/** Why something is as it is. */

/** Why a node does not take a replica. */
export const refusal = z.object({
  filter: z.string(),
  needed: z.union([z.string(), z.number()]),
  available: z.union([z.string(), z.number()]),
  where: z.string().nullable(),
  /** The same for a person. */
  text: z.string(),
})
export type RefusalView = z.infer<typeof refusal>

const room = z.object({
  total: z.int(),
  /** In use by all processes there, as last measured; null when unknown. */
  used: z.int().nullable(),
  /** Held for replicas that do not use it yet. */
  claimed: z.int(),
  /** What a further replica could have. */
  free: z.int(),
})

/** What a node has left, and which models it would take. */
export const nodeExplanation = z.object({
  node_id: z.string(),
  node_name: z.string(),
  status: nodeView.shape.status,
  /** What follows from its state, for a person; the first line is the answer, the rest its reasons. */
  text: z.array(z.string()),
  ram: room.nullable(),
  devices: z.array(room.extend({ index: z.int(), name: z.string() })),
  models: z.array(
    z.object({
      model_name: z.string(),
      /** Keys of its replicas here, with their states. */
      replicas: z.array(z.object({ key: z.string(), state: z.string() })),
      /** Why it does not take another one of this model; null when it could. */
      refusal: refusal.nullable(),
    }),
  ),
})
export type NodeExplanation = z.infer<typeof nodeExplanation>
