import { writeGguf, type FilledTensor } from '../../../src/model-files/header/testing/write-gguf.ts'

export interface TinyBert {
  /** With a head that says how well a pair of texts fits; without one it makes vectors. */
  ranks: boolean
  contextTokens: number
}

const WIDTH = 32
const INNER_WIDTH = 64
/** As llama.cpp numbers them. */
const MEAN_POOLING = 1
const RANK_POOLING = 4
const NORMAL_TOKEN = 1
const CONTROL_TOKEN = 3

const special = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']
const words =
  'a an and are as at be by can do each for from gateway has how in is it many model models more node nodes no not of on one ' +
  'or replica replicas router slot slots start stop text that the this to two use what where which with worker you'
// A character that no keyboard has stands for the start of a word.
const vocabulary = [...special, ...words.split(' ').map((word) => `▁${word}`)]

/**
 * For tests: writes a BERT of one layer that has learned nothing. Its weights are the same each time, and what it says of two
 * texts differs from what it says of two others.
 */
export function writeTinyBert(file: string, { ranks, contextTokens }: TinyBert): void {
  const metadata = {
    'general.architecture': 'bert',
    'bert.context_length': contextTokens,
    'bert.embedding_length': WIDTH,
    'bert.feed_forward_length': INNER_WIDTH,
    'bert.block_count': 1,
    'bert.attention.head_count': 2,
    'bert.attention.layer_norm_epsilon': 1e-12,
    'bert.attention.causal': false,
    'bert.pooling_type': ranks ? RANK_POOLING : MEAN_POOLING,
    'tokenizer.ggml.model': 'bert',
    'tokenizer.ggml.tokens': vocabulary,
    'tokenizer.ggml.token_type': Int32Array.from(vocabulary, (_, token) =>
      token < special.length ? CONTROL_TOKEN : NORMAL_TOKEN,
    ),
    'tokenizer.ggml.token_type_count': 2,
    'tokenizer.ggml.padding_token_id': special.indexOf('[PAD]'),
    'tokenizer.ggml.unknown_token_id': special.indexOf('[UNK]'),
    'tokenizer.ggml.bos_token_id': special.indexOf('[CLS]'),
    'tokenizer.ggml.cls_token_id': special.indexOf('[CLS]'),
    // The format spells it so.
    'tokenizer.ggml.seperator_token_id': special.indexOf('[SEP]'),
    'tokenizer.ggml.mask_token_id': special.indexOf('[MASK]'),
  }
  writeGguf(file, { metadata, tensors: tensorsOf(ranks, contextTokens) })
}

function tensorsOf(ranks: boolean, contextTokens: number): FilledTensor[] {
  const next = weightsFrom(8)
  const tensor = (name: string, ...shape: number[]): FilledTensor => {
    const size = shape.reduce((product, length) => product * length, 1)
    return { name, shape, weights: Float32Array.from({ length: size }, next) }
  }
  const linear = (name: string, from: number, to: number): FilledTensor[] => [
    tensor(`${name}.weight`, from, to),
    tensor(`${name}.bias`, to),
  ]
  const norm = (name: string): FilledTensor[] => [tensor(`${name}.weight`, WIDTH), tensor(`${name}.bias`, WIDTH)]
  return [
    tensor('token_embd.weight', WIDTH, vocabulary.length),
    tensor('token_types.weight', WIDTH, 2),
    tensor('position_embd.weight', WIDTH, contextTokens),
    ...norm('token_embd_norm'),
    ...['attn_q', 'attn_k', 'attn_v', 'attn_output'].flatMap((name) => linear(`blk.0.${name}`, WIDTH, WIDTH)),
    ...norm('blk.0.attn_output_norm'),
    ...linear('blk.0.ffn_up', WIDTH, INNER_WIDTH),
    ...linear('blk.0.ffn_down', INNER_WIDTH, WIDTH),
    ...norm('blk.0.layer_output_norm'),
    ...(ranks ? [...linear('cls', WIDTH, WIDTH), ...linear('cls.output', WIDTH, 1)] : []),
  ]
}

/** Small numbers around 0, always the same ones. */
function weightsFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32 - 0.5
  }
}
