import { z } from 'zod'
import type { ModelHeader } from '../core/types.ts'

const bytes = z.int().nonnegative()
const perLayer = z.array(z.int().nonnegative()).max(10_000)

/** What the header of a model's file says, as far as memory goes. `core/types.ts` describes each field. */
export const modelHeader = z.object({
  format: z.enum(['gguf', 'safetensors']),
  architecture: z.string(),
  quantisation: z.string().nullable(),
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

export function fromHeaderMessage(message: ModelHeaderMessage): ModelHeader {
  const {
    weights_bytes,
    host_bytes,
    projector_bytes,
    key_elements,
    value_elements,
    sliding_window,
    state_bytes,
    ...rest
  } = message
  return {
    ...rest,
    weightsBytes: weights_bytes,
    hostBytes: host_bytes,
    projectorBytes: projector_bytes,
    keyElements: key_elements,
    valueElements: value_elements,
    slidingWindow: sliding_window,
    stateBytes: state_bytes,
  }
}

export function toHeaderMessage(header: ModelHeader): ModelHeaderMessage {
  const { weightsBytes, hostBytes, projectorBytes, keyElements, valueElements, slidingWindow, stateBytes, ...rest } =
    header
  return {
    ...rest,
    weights_bytes: weightsBytes,
    host_bytes: hostBytes,
    projector_bytes: projectorBytes,
    key_elements: [...keyElements],
    value_elements: [...valueElements],
    sliding_window: slidingWindow && { tokens: slidingWindow.tokens, layers: [...slidingWindow.layers] },
    state_bytes: stateBytes,
  }
}
