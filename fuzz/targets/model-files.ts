import fc from 'fast-check'
import { modelHeader } from '../../src/api/model-header.ts'
import { toHeaderMessage } from '../../src/api/header-message.ts'
import type { ByteSource } from '../../src/model-files/header/byte-source.ts'
import { describeModel } from '../../src/model-files/header/describe.ts'
import { readHeader } from '../../src/model-files/header/read-header.ts'
import { publishedModels } from '../../src/model-files/header/testing/published-models.ts'
import { ggufHeaderBytes } from '../../src/model-files/header/testing/write-gguf.ts'
import { spoiled } from '../spoil.ts'
import { spoiledJson } from '../spoil-json.ts'
import { insist, mayRefuseLater, type FuzzTarget } from '../target.ts'

const { signal } = new AbortController()
const ggufs = publishedModels.slice(0, 4).map(({ metadata }) =>
  Buffer.concat([
    ggufHeaderBytes({
      metadata: { ...metadata, 'tokenizer.ggml.tokens': { length: 3 } },
      tensors: [
        { name: 'token_embd.weight', bytes: 64 },
        { name: 'blk.0.attn_q.weight', bytes: 64 },
      ],
    }),
    Buffer.alloc(128),
  ]),
)
const tensorJson = { a: { dtype: 'F16', shape: [2, 4], data_offsets: [0, 16] }, __metadata__: { format: 'pt' } }
const config = {
  model_type: 'llama',
  hidden_size: 64,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  vocab_size: 100,
  layer_types: ['sliding_attention'],
  sliding_window: 8,
  text_config: { head_dim: 16 },
}
/** A value in the metadata of a GGUF that says more than there is. */
const lengths = [
  '\xff\xff\xff\xff\xff\xff\xff\x7f',
  '\0\0\0\0\0\0\0\x10',
  '\x09\0\0\0',
  '\x08\0\0\0',
  'GGUF',
  'llama.block_count',
  'general.architecture',
]

export const modelFileTargets: readonly FuzzTarget[] = [
  {
    name: 'gguf',
    reads: 'the header of a GGUF file, from wherever a model comes',
    share: 0.5,
    cases: spoiled(ggufs, lengths),
    read: (bytes) => readFiles([['model.gguf', bytes]]),
  },
  {
    name: 'gguf-names',
    reads: 'the same with values of the right form that no model has',
    share: 0.5,
    cases: fc
      .record({
        'general.architecture': fc.constantFrom('llama', 'gemma3', '__proto__', 'constructor', 'toString', ''),
        count: fc.oneof(fc.constantFrom(0, 1, 2 ** 31 - 1, 2 ** 32 - 1, 10_001), fc.nat(100)),
        window: fc.oneof(fc.constantFrom(0, 1, 2 ** 31 - 1), fc.nat(100)),
        heads: fc.oneof(fc.nat(64), fc.constant(2 ** 28)),
      })
      .map(({ count, window, heads, ...rest }) => ({ name: rest['general.architecture'], count, window, heads }))
      .map(({ name, count, window, heads }) =>
        ggufHeaderBytes({
          metadata: {
            'general.architecture': name,
            [`${name}.block_count`]: count,
            [`${name}.attention.sliding_window`]: window,
            [`${name}.attention.head_count`]: heads,
            [`${name}.embedding_length`]: heads * 8,
            [`${name}.attention.key_length`]: window,
            [`${name}.context_length`]: window,
          },
          tensors: [{ name: 'blk.0.x', bytes: 0 }],
        }),
      ),
    read: (bytes) => readFiles([['model.gguf', bytes]]),
  },
  {
    name: 'safetensors',
    reads: 'the header of a safetensors file',
    share: 0.5,
    cases: fc.oneof(
      spoiledJson([tensorJson]).map((json) => Buffer.concat([lengthOf(json.length), json, Buffer.alloc(16)])),
      spoiled([
        Buffer.concat([
          lengthOf(JSON.stringify(tensorJson).length),
          Buffer.from(JSON.stringify(tensorJson)),
          Buffer.alloc(16),
        ]),
      ]),
    ),
    read: (bytes) =>
      readFiles([
        ['model.safetensors', bytes],
        ['config.json', Buffer.from(JSON.stringify(config))],
      ]),
  },
  {
    name: 'config-json',
    reads: 'the config.json beside safetensors',
    share: 0.5,
    cases: spoiledJson([config]),
    read: (bytes) => {
      const json = Buffer.from(JSON.stringify(tensorJson))
      return readFiles([
        ['model.safetensors', Buffer.concat([lengthOf(json.length), json, Buffer.alloc(16)])],
        ['config.json', bytes],
      ])
    },
  },
]

async function readFiles(files: readonly (readonly [path: string, bytes: Buffer])[]): Promise<void> {
  let reads = 0
  const model = files.map(([path, bytes]) => {
    const source: ByteSource = {
      label: path,
      size: bytes.length,
      async read(at, length) {
        insist((reads += 1) < 1000, 'reads without end')
        insist(length <= 64 * 2 ** 20, 'wants more memory than any header takes')
        return bytes.subarray(at, at + length)
      },
    }
    return { path, bytes: source }
  })
  const header = await mayRefuseLater(() => readHeader(model, signal))
  if (header)
    insist(modelHeader.safeParse(toHeaderMessage(header)).success, `no header: ${JSON.stringify(header).slice(0, 300)}`)
  await mayRefuseLater(() => describeModel(model, signal))
}

function lengthOf(bytes: number): Buffer {
  const buffer = Buffer.alloc(8)
  buffer.writeBigUInt64LE(BigInt(bytes))
  return buffer
}
