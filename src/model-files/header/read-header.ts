import type { ModelHeader } from '../../core/types.ts'
import { AppError } from '../../platform/errors.ts'
import { ggufHeader } from './gguf-header.ts'
import { ggufModels, readParts } from './gguf-parts.ts'
import { checkCount, inBatches } from './in-batches.ts'
import type { ModelFile } from './model-file.ts'
import { readSafetensors } from './safetensors-file.ts'
import { safetensorsHeader } from './safetensors-header.ts'

const MOST_CONFIG_BYTES = 2 ** 20

/**
 * The facts in a model's files about its memory; null for files without them (a folder with several models, a speech
 * model). Reads only the beginning of each file.
 */
export async function readHeader(files: readonly ModelFile[], signal: AbortSignal): Promise<ModelHeader | null> {
  const header = await readAny(files, signal)
  // Models for images and speech have the same format, but other rules for memory.
  return header && header.layers > 0 ? header : null
}

async function readAny(files: readonly ModelFile[], signal: AbortSignal): Promise<ModelHeader | null> {
  const [gguf, ...others] = ggufModels(files)
  // With several models the caller must choose one.
  if (gguf) return others.length === 0 ? ggufHeader(await readParts(gguf, signal), gguf[0].bytes.label) : null
  const config = files.find(({ path }) => path === 'config.json')
  const weights = safetensors(files)
  return config && weights.length > 0 ? readFolder(config, weights, signal) : null
}

/**
 * Some repositories contain the same weights twice, in the layout of transformers (`model…`) and in the author's own.
 */
function safetensors(files: readonly ModelFile[]): ModelFile[] {
  const all = files.filter(({ path }) => path.endsWith('.safetensors') && !path.includes('/'))
  const usual = all.filter(({ path }) => path.startsWith('model'))
  return usual.length > 0 ? usual : all
}

async function readFolder(config: ModelFile, weights: ModelFile[], signal: AbortSignal): Promise<ModelHeader> {
  checkCount(weights)
  const text = await config.bytes.read(0, MOST_CONFIG_BYTES, signal)
  const sizes = await inBatches(weights, ({ bytes }) => readSafetensors(bytes, signal))
  const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0)
  return safetensorsHeader(jsonOf(text, config.bytes.label), total, config.bytes.label)
}

function jsonOf(bytes: Buffer, label: string): unknown {
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown
  } catch {
    throw new AppError('bad_request', `${label} is not JSON.`)
  }
}
