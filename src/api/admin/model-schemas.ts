import { z } from 'zod'
import type { ModelEffect } from '../../core/explain/types.ts'
import { loadStatus } from '../load-status.ts'
import { modelHeader } from '../model-header.ts'
import { pullReport } from '../reports.ts'
import { refusal } from './explain-schemas.ts'
import { modelName } from './names.ts'
import { deleted, ifUnchanged } from './route.ts'

/** Models over the admin API. */

const modelOptions = z.record(z.string().min(1).max(100), z.union([z.string().max(4096), z.number(), z.boolean()]))

/**
 * Where a model's files come from: `file:/path` on the node itself, `https://…`, `hf:org/repo/file` or `hf:org/repo` (all
 * of it), `frontend:path` below the frontend's models folder, `bundled:path` below the one that comes with the program.
 * `#sha256=…` after any of them says what the file must be. `ollama:name` is what Ollama fetches by itself.
 */
export const modelSource = z
  .string()
  .max(2000)
  .regex(
    /^(file:\/|https?:\/\/|hf:|frontend:|bundled:|ollama:)\S/,
    'must begin with file:/, https://, hf:, frontend:, bundled: or ollama:',
  )

const modelOrigin = z.enum(['api', 'folder'])

/** As people write sizes; `0` is a size as well. */
const size = z.union([z.string().max(50), z.int().nonnegative()], 'expected text such as "12GiB", or a number of bytes')

const settings = {
  engine: z.string().min(1).max(100),
  source: modelSource.nullable().default(null),
  options: modelOptions.default({}),
  /** What one replica needs: on its GPUs in all, and of the machine's memory. Without it, it is found out. */
  memory: z
    .strictObject({ vram: size.default(0), ram: size.default(0) })
    .nullable()
    .default(null),
  /** Models that share this name are never put on one node. */
  anti_affinity: z.string().min(1).max(100).nullable().default(null),
}

export const modelInput = z.strictObject({ name: modelName, ...settings })
export type ModelInput = z.infer<typeof modelInput>
/** With `replicas`, the rule that keeps so many running is made in the same step, and goes with the model. */
export const modelAddition = modelInput.extend({
  replicas: z
    .int('must be a whole number')
    .min(0, 'must be at least 0')
    .max(10_000, 'must be at most 10000')
    .optional(),
})
/** The name stands in the path. */
export const modelChange = z.strictObject({ name: modelName.optional(), ...settings })

export const modelView = z.object({
  name: z.string(),
  engine: z.string(),
  source: z.string().nullable(),
  options: modelOptions,
  memory: z.object({ vram: z.int(), ram: z.int() }).nullable(),
  anti_affinity: z.string().nullable(),
  /** Its source: an admin, or the folder that a frontend serves (`--models-dir`). */
  origin: modelOrigin,
  revision: z.string(),
  created_at: z.int(),
  updated_at: z.int(),
  /** `ready` takes requests; `starting` will; `failed` could not be started; `stopped` is loaded by its first request. */
  state: z.enum(['ready', 'starting', 'failed', 'stopped']),
  ready_replicas: z.int(),
  replicas: z.int(),
  /** What is known of its files. */
  payload_bytes: z.int().nullable(),
  header: modelHeader.nullable(),
  /** Of its last success; null when it never was loaded. */
  last_loaded_at: z.int().nullable(),
  last_load_ms: z.int().nullable(),
})
export type ModelView = z.infer<typeof modelView>

/** What follows from saving a model. */
export const modelSaved = modelView.extend({
  effect: z.object({
    /** False when it means the same as before: nothing is restarted. */
    is_changed: z.boolean(),
    /** Replicas of the old meaning that are replaced. */
    replaced: z.int(),
    /** The same for a person. */
    text: z.string(),
  }) satisfies z.ZodType<ModelEffect>,
})
export type ModelSaved = z.infer<typeof modelSaved>

/** As in `?replace=true`. */
const flag = z.enum(['true', 'false'], 'must be true or false')
const later = {
  /** Accept what no node can run as things are: an engine or an option that none knows, a file that is missing. */
  later: flag.optional(),
}
/** Without `replace` a model that exists and differs is refused with 409. */
export const addQuery = z.strictObject({ ...later, replace: flag.optional() })
export const changeQuery = ifUnchanged.extend(later)

/** What became of the rule: `removed` when it was made together with the model, `kept` when it was written by itself. */
export const modelDeleted = deleted.extend({ rule: z.enum(['removed', 'kept']).nullable().optional() })

export const inspectInput = z.strictObject({
  source: modelSource,
  options: modelOptions.default({}),
  /** Nodes that can run it are asked about a `file:` source. */
  engine: z.string().min(1).max(100).default('llama'),
})
/** Both null: the files are of no kind that says so. */
export const inspected = z.object({ payload_bytes: z.int().nullable(), header: modelHeader.nullable() })
export type Inspected = z.infer<typeof inspected>

export const pullInput = z.strictObject({
  model_name: modelName,
  /** What a pull is known by; without it a new one begins. */
  pull_id: z.string().min(1).max(100).optional(),
})
export const pulled = pullReport

export const unloadModelInput = z.strictObject({ force: z.boolean().default(false) })

/** Why a model runs where it runs, and not elsewhere. */
export const modelExplanation = z.object({
  model_name: z.string(),
  revision: z.string(),
  status: loadStatus,
  /** What the rule asks for; null when there is none. */
  wanted: z.object({ min: z.int(), max: z.int() }).nullable(),
  /** Since when clients have waited for it; null when none does. */
  wanted_since: z.int().nullable(),
  /** What one replica takes, on each kind of device that there is. */
  memory: z.array(
    z.object({
      device_kind: z.string(),
      source: z.enum(['explicit', 'learned', 'computed', 'unknown']),
      vram: z.int(),
      ram: z.int(),
      share: z.number().nullable(),
      parts: z.record(z.string(), z.int()).nullable(),
    }),
  ),
  nodes: z.array(
    z.object({
      node_id: z.string(),
      node_name: z.string(),
      replicas: z.array(
        z.object({
          key: z.string(),
          state: z.string(),
          is_current: z.boolean(),
          in_flight: z.int(),
          claimed: z.int(),
          measured: z.int().nullable(),
          error: z.string().nullable(),
        }),
      ),
      /** Why it does not take another one; null when it could. */
      refusal: refusal.nullable(),
    }),
  ),
  /** Where the next replica would go; null when no node can take it. */
  next: z
    .object({
      node_name: z.string(),
      devices: z.array(z.int()),
      /** Keys of what would be stopped for it. */
      victims: z.array(z.string()),
    })
    .nullable(),
  /** What would help, the cheapest first. */
  advice: z.array(z.string()),
  last_decision: z.object({ at: z.int(), action: z.string(), reason: z.string() }).nullable(),
  last_load: z.object({ at: z.int(), node_name: z.string(), ms: z.int() }).nullable(),
})
export type ModelExplanation = z.infer<typeof modelExplanation>
