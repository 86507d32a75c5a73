import { z } from 'zod'
import type * as explain from '../core/explain/types.ts'
import { label, prose } from './bounds.ts'

/** How far a model is on its way to a ready replica. */
export const loading = z.object({
  model: label,
  state: z.enum(['waiting', 'reserved', 'installing', 'staging', 'loading']),
  /** Where it is loaded; null while no node has been chosen. */
  node: label.nullable(),
  /** In percent, of the bytes; 0 while unknown. */
  progress: z.int().min(0).max(100),
  bytes_sent: z.int().nonnegative(),
  total_bytes: z.int().nonnegative(),
  file_index: z.int().nonnegative(),
  total_files: z.int().nonnegative(),
  /** Left out until there is a rate to tell it by. */
  eta_seconds: z.int().nonnegative().optional(),
}) satisfies z.ZodType<explain.Loading>
export type Loading = z.infer<typeof loading>

export const loadStatus = z.object({
  /**
   * `loading`: under way. `waiting`: it will be placed when something else has gone, see `reason`. `refused`: no node can
   * take it as things are. `failed`: it was tried and could not be started. `stopped`: idle, its first request loads it.
   */
  state: z.enum(['ready', 'loading', 'waiting', 'refused', 'failed', 'stopped', 'unknown']),
  loading: loading.nullable(),
  /** For a person: what is wrong or waited for, and what would help. */
  reason: prose.nullable(),
  /** When it is tried again by itself, in milliseconds since 1970; null when nothing is planned. */
  next_attempt_at: z.int().nullable(),
  /** No waiting helps: a person has to change something first. A release before this does not say. */
  is_final: z.boolean().optional(),
}) satisfies z.ZodType<explain.LoadStatus>
export type LoadStatus = z.infer<typeof loadStatus>
