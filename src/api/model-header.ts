import { z } from 'zod'
import { label } from './bounds.ts'

const bytes = z.int().nonnegative()
const perLayer = z.array(z.int().nonnegative()).max(10_000)

/** What the header of a model's file says, as far as memory goes. `core/types.ts` describes each field. */
export const modelHeader = z.object({
  format: z.enum(['gguf', 'safetensors']),
  architecture: label,
  quantisation: label.nullable(),
  weights_bytes: bytes,
  host_bytes: bytes,
  projector_bytes: bytes,
  layers: z.int().nonnegative(),
  embedding: z.int().nonnegative(),
  vocabulary: z.int().nonnegative(),
  context: z.int().nonnegative(),
  key_elements: perLayer,
  value_elements: perLayer,
  sliding_window: z.object({ tokens: z.int().positive(), layers: z.array(z.boolean()).max(10_000) }).nullable(),
  state_bytes: bytes,
})
export type ModelHeaderMessage = z.infer<typeof modelHeader>
