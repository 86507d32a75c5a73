import type { Config } from '../../config/options.ts'
import { describeModel, type Description } from '../../../model-files/header/describe.ts'
import { showSource } from '../../../model-files/source/source.ts'
import { ANYWHERE, openReach } from '../../../model-files/source/reach.ts'
import type { Clock } from '../../../platform/run/clock.ts'
import { AppError } from '../../../platform/errors.ts'
import { painter } from '../../terminal/style.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { plain } from '../../terminal/text-width.ts'
import { findFiles, type FindDeps } from './find-files.ts'
import { memoryByContext } from './memory-by-context.ts'
import { renderDescription } from './render.ts'

/** So many names are told where one has to be chosen. */
const MOST_NAMES = 30

/** Headers are a few megabytes at most; a server or a drive that takes longer hangs. */
const READ_WITHIN_MS = 120_000

export interface Inspection {
  wanted: string
  config: Pick<Config, 'hf_endpoint' | 'hf_token' | 'json'>
  terminal: Terminal
  clock: Clock
}

/** Reads the header of a model's files itself, a few hundred kilobytes, and needs no cluster. */
export async function inspect({ wanted, config, terminal, clock }: Inspection): Promise<number> {
  // The command runs with your own rights on your own machine, so any address is allowed.
  const hub = { endpoint: config.hf_endpoint, token: config.hf_token, reach: openReach([ANYWHERE]) }
  const found = await look(wanted, { hub, clock })
  if (found.kind === 'choice') throw choice(found.names)
  if (found.kind === 'unknown') {
    throw new AppError(
      'bad_request',
      'There is no model among these files: neither GGUF nor safetensors with config.json.',
    )
  }
  if (config.json) terminal.print(JSON.stringify(jsonOf(found), null, 2))
  else {
    const { columns: width, colour } = terminal
    terminal.print(renderDescription(found, showSource(plain(wanted)), { width, paint: painter(colour) }).join('\n'))
  }
  return 0
}

async function look(wanted: string, deps: FindDeps): Promise<Description> {
  const signal = AbortSignal.timeout(READ_WITHIN_MS)
  try {
    return await describeModel(await findFiles(wanted, deps, signal), signal)
  } catch (error) {
    if (!signal.aborted) throw error
    const text = `${showSource(plain(wanted))} could not be read within ${READ_WITHIN_MS / 1000} s.`
    throw new AppError('unavailable', text, { cause: error })
  }
}

function choice(names: readonly string[]): AppError {
  const more = names.length > MOST_NAMES ? [`and ${names.length - MOST_NAMES} more`] : []
  const list = [...names.slice(0, MOST_NAMES).map(plain), ...more].map((name) => `\n  ${name}`).join('')
  return new AppError('bad_request', `There are ${names.length} models in there. Name one of them:${list}`)
}

function jsonOf(found: Extract<Description, { header: unknown }>): object {
  const { header, keyValueHeads, chatTemplate, fileBytes, tensorBytes, ...rest } = found
  return {
    ...rest,
    format: header.format,
    architecture: header.architecture,
    quantisation: header.quantisation,
    context: header.context,
    layers: header.layers,
    key_value_heads: keyValueHeads,
    embedding: header.embedding,
    vocabulary: header.vocabulary,
    tensor_bytes: tensorBytes,
    file_bytes: fileBytes,
    chat_template: chatTemplate,
    memory: memoryByContext(found).map(({ context, gpu, cpu }) => ({
      context,
      gpu: { vram: gpu.vram, ram: gpu.ram },
      cpu: { ram: cpu.ram },
    })),
  }
}
