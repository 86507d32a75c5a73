import { z } from 'zod'
import { label } from './bounds.ts'

export const device = z.object({
  index: z.int().nonnegative(),
  uuid: label,
  name: label,
  total_vram: z.int().nonnegative(),
  /** Null when it could not be read: the last known value stands. */
  available_vram: z.int().nonnegative().nullable(),
  /** The device shares the machine's memory. */
  unified: z.boolean(),
})
export type Device = z.infer<typeof device>

/** What a machine has, in bytes; disk is that of the folder with the models. */
export const hardware = z.object({
  gpu_vendor: z.enum(['nvidia', 'amd', 'intel', 'apple']).nullable(),
  devices: z.array(device).max(64),
  total_ram: z.int().nonnegative(),
  available_ram: z.int().nonnegative(),
  total_disk: z.int().nonnegative(),
  available_disk: z.int().nonnegative(),
})
export type Hardware = z.infer<typeof hardware>
