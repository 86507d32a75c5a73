import { z } from 'zod'
import type { FileProgress } from '../core/explain/types.ts'
import { label, longLabel, prose } from './bounds.ts'
import { engineMemory, engineUses, optionNames } from './engine-profile.ts'

/** What a worker tells of its work, the same in its heartbeats and in the admin API. */

/** How far a replica or an engine has come with its files. Totals are null while they are unknown. */
export const progress = z.object({
  file: longLabel.nullable(),
  done_bytes: z.int().nonnegative(),
  total_bytes: z.int().nonnegative().nullable(),
  bytes_per_s: z.int().nonnegative().nullable(),
  /** Which of how many files, from 1 on; left out while unknown. */
  file_index: z.int().positive().optional(),
  total_files: z.int().positive().optional(),
}) satisfies z.ZodType<FileProgress>

/**
 * Peaks in bytes: since it became ready, and until it is since its start. `devices` is null when VRAM cannot be told apart
 * by process. `loaded`: it was ready when it was looked at; workers of the release before do not say.
 */
export const measuredMemory = z.object({
  loaded: z.boolean().optional(),
  devices: z
    .array(z.object({ index: z.int().nonnegative(), bytes: z.int().nonnegative() }))
    .max(64)
    .nullable(),
  ram: z.int().nonnegative(),
})

/** How an engine ended. Both null: it could not be started, or an earlier run of the worker had started it. */
export const engineExit = z.object({
  code: z.int().nullable(),
  signal: label.nullable(),
  last_lines: z.array(prose).max(20),
})

/** How far a node is with fetching the files of a model. */
export const pullReport = z.object({
  id: label,
  state: z.enum(['running', 'done', 'failed']),
  progress: progress.nullable(),
  error: prose.nullable(),
  /** Of all its files, once they are there. */
  bytes: z.int().nonnegative().nullable(),
})
export type PullReport = z.infer<typeof pullReport>

/** An engine on a node: whether it can run there, and the last thing that was done to it. */
export const reportedEngine = z.object({
  name: label,
  /** Where its profile comes from. */
  source: z.enum(['built-in', 'user']),
  /** `installable`: not here yet, but its profile says how to get it, so a replica may be placed. */
  state: z.enum(['available', 'installable', 'missing', 'installing', 'broken']),
  /** Why it cannot run: names the program that is missing, or the mistake in the profile. */
  reason: prose.nullable(),
  /** Of an engine that was installed by Flotilla: the sha256 of its archive, or when its command was run. */
  version: label.nullable(),
  /** Paths it answers. */
  serves: z.array(longLabel).max(1000),
  /** It answers no other. A release before this does not say. */
  serves_no_other: z.boolean().optional(),
  memory: engineMemory.default('on_load'),
  uses: engineUses.prefault({}),
  /** All options that it takes; null or missing: any is accepted. */
  option_names: optionNames.nullable().optional(),
  /** The option that is a shell line; what the line names in `{{…}}` are options too. */
  shell_option: z.string().max(4096).nullable().optional(),
  /** It cannot start a model that has no source. */
  needs_source: z.boolean().optional(),
  operation: z
    .object({
      id: label,
      kind: z.enum(['install', 'upgrade', 'delete']),
      state: z.enum(['running', 'done', 'failed']),
      error: prose.nullable(),
      /** Keys of the replicas that were stopped for it. */
      stopped: z.array(label).max(10_000),
      progress: progress.nullable(),
    })
    .nullable(),
})
