import type { ModelHeader } from '../../core/types.ts'
import { AppError } from '../../platform/errors.ts'
import { slidingWindowOf } from './gguf-window.ts'
import { stateOf } from './gguf-state.ts'
import { Metadata } from './gguf-metadata.ts'
import type { GgufFile } from './gguf-file.ts'
import { possibleHeader } from './possible-header.ts'
import { quantisationOf } from './quantisation.ts'

/** The schemas have the same limit. */
const MOST_LAYERS = 10_000

/** Input tensors: they stay in the machine's memory, since only a few rows are looked up for each token. */
const INPUT = /^(token_embd|per_layer_token_embd|position_embd|token_types|token_embd_norm)\./
const OUTPUT = 'output.weight'
const INPUT_TABLE = 'token_embd.weight'

/** Combines the parts of one GGUF. The first has the metadata, each has some tensors. */
export function ggufHeader([first, ...others]: readonly [GgufFile, ...GgufFile[]], label: string): ModelHeader {
  const metadata = new Metadata(first.metadata)
  const layers = metadata.own('block_count') ?? 0
  const tensors = [first, ...others].flatMap((part) => part.tensors)
  if (layers > MOST_LAYERS) {
    throw new AppError('bad_request', `${label} says that it has ${layers} layers; more than ${MOST_LAYERS} cannot be.`)
  }
  const window = slidingWindowOf(metadata, layers)
  const state = stateOf(metadata, layers)
  const hasCache = (layer: number): boolean => !state.hasNoCache(layer) && isCausal(metadata)
  const elements = Array.from({ length: layers }, (_, layer) =>
    hasCache(layer) ? attention(metadata, layer, window?.layers[layer] ?? false) : { key: 0, value: 0 },
  )
  const hostBytes = sum(tensors.filter(({ name }) => INPUT.test(name)))
  const header: ModelHeader = {
    format: 'gguf',
    architecture: metadata.architecture,
    quantisation: quantisationOf(metadata.number('general.file_type')),
    weightsBytes: sum(tensors) + tiedBytes(tensors),
    hostBytes,
    projectorBytes: 0,
    layers,
    embedding: metadata.own('embedding_length') ?? 0,
    vocabulary: metadata.length('tokenizer.ggml.tokens') ?? metadata.own('vocab_size') ?? 0,
    context: metadata.own('context_length') ?? 0,
    keyElements: elements.map(({ key }) => key),
    valueElements: elements.map(({ value }) => value),
    slidingWindow: window,
    stateBytes: state.bytes,
  }
  return possibleHeader(header, label)
}

/** False for encoders, which keep no cache of what they have read. */
function isCausal(metadata: Metadata): boolean {
  return metadata.own('attention.causal') !== 0
}

/** Heads that keep keys, times the length of a key; the same for values. */
function attention(metadata: Metadata, layer: number, isWindowed: boolean): { key: number; value: number } {
  const heads = metadata.own('attention.head_count', layer) ?? 0
  const cached = metadata.own('attention.head_count_kv', layer) ?? heads
  const usual = heads > 0 ? Math.floor((metadata.own('embedding_length') ?? 0) / heads) : 0
  const length = (name: 'key' | 'value'): number => {
    const whole = metadata.own(`attention.${name}_length`, layer) ?? usual
    return isWindowed ? (metadata.own(`attention.${name}_length_swa`, layer) ?? whole) : whole
  }
  // Multi-head latent attention: keys and values are both made from one small vector, which is kept as the key.
  const isLatent = metadata.own('attention.key_length_mla') !== undefined
  return { key: cached * length('key'), value: isLatent ? 0 : cached * length('value') }
}

/** A model without output weights uses the input table for it, and the GPU then holds a copy of that. */
function tiedBytes(tensors: GgufFile['tensors']): number {
  const find = (wanted: string): number | undefined => tensors.find(({ name }) => name === wanted)?.bytes
  return find(OUTPUT) === undefined ? (find(INPUT_TABLE) ?? 0) : 0
}

function sum(tensors: readonly { bytes: number }[]): number {
  return tensors.reduce((total, { bytes }) => total + bytes, 0)
}
