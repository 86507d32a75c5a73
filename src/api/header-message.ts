import type { ModelHeader } from '../core/types.ts'
import type { ModelHeaderMessage } from './model-header.ts'

/** A header as messages have it, to and from what core works with. Without the schemas: the dashboard does this, too. */

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
