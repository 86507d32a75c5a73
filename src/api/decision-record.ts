import { z } from 'zod'
import { label, longLabel, prose } from './bounds.ts'
import { routePolicy } from './route-policy.ts'

/** What a gateway knew and did when it served one request. */
export const decisionRecord = z.object({
  request_id: longLabel,
  at: z.int(),
  gateway: label,
  method: label,
  path: prose,
  model: label.nullable(),
  policy: routePolicy.nullable(),
  /** Of the key that was shown; null when none was needed. Never the key itself. */
  key_id: label.nullable(),
  /** At most 50: the chosen ones first, then those that would have been next. */
  candidates: z
    .array(
      z.object({
        replica_id: label,
        node_name: label,
        in_flight_here: z.int(),
        in_flight_elsewhere: z.int(),
        /** Since it was last used by this gateway; null when it never was. */
        idle_ms: z.int().nullable(),
        available_vram: z.int().nullable(),
        /** Why it was left out, if it was: ejected, no probe answered, refused. */
        left_out: prose.nullable(),
      }),
    )
    .max(50),
  candidate_count: z.int(),
  tries: z
    .array(
      z.object({
        replica_id: label,
        node_name: label,
        outcome: z.enum(['served', 'refused', 'unreachable', 'broken off', 'client gone']),
        status: z.int().nullable(),
        error: prose.nullable(),
        ms: z.int(),
      }),
    )
    .max(1000),
  /** Waited in the model's queue. */
  queued_ms: z.int(),
  /** Waited for the model to be loaded. */
  load_wait_ms: z.int(),
  status: z.int(),
  duration_ms: z.int(),
})
export type DecisionRecord = z.infer<typeof decisionRecord>
