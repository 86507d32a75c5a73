import type { Inspected, ModelInput } from '../../api/admin/model-schemas.ts'
import { defaultContext } from '../../core/memory/default-context.ts'
import { memorySettings } from '../../core/memory/settings.ts'
import { AppError } from '../../platform/errors.ts'
import type { Client } from '../client.ts'
import { firstSentence } from '../terminal/format.ts'
import { plain } from '../terminal/text-width.ts'

export interface Chosen {
  engine: string
  options: ModelInput['options']
  /** The choices, for a person. */
  lines: string[]
}

export interface Said {
  engine: string | undefined
  source: string | null
  options: ModelInput['options']
}

/** The engines for GGUF files, the default first. */
const GGUF_ENGINES = ['llama', 'llama-server']

/** Defaults for what was not given, from the model's files. Throws a usage mistake if the files do not say enough. */
export async function chooseDefaults(client: Client, said: Said): Promise<Chosen> {
  const { source, options } = said
  const isGguf = source !== null && isGgufName(source)
  const ask = once(() => look(client, said))
  const engine = said.engine ?? (isGguf ? GGUF_ENGINES[0]! : await engineFor(source, ask))
  const lines = said.engine === undefined ? [`Engine ${engine}: its files are GGUF.`] : []
  const { context, contextTotal } = memorySettings(options)
  const isSaid = context !== null || contextTotal !== null
  if (isSaid || source === null || !GGUF_ENGINES.includes(engine)) return { engine, options, lines }
  const found = await ask()
  if ('error' in found) {
    // All of it: how to put it right comes last.
    const why = plain(found.error.message)
    return {
      engine,
      options,
      lines: [...lines, `Its files cannot be looked into now, so the engine chooses the context: ${why}`],
    }
  }
  const trained = found.header?.context ?? 0
  const usual = defaultContext(trained)
  if (usual === undefined) return { engine, options, lines }
  const text = usual === trained ? 'all that it was trained for' : `of the ${trained} that it was trained for`
  return { engine, options: { ...options, context: usual }, lines: [...lines, `Context of ${usual} tokens, ${text}.`] }
}

type Look = Inspected | { error: AppError }

/** The cluster inspects the files, not this program: it is the nodes that must reach them. */
async function look({ api }: Client, { engine = GGUF_ENGINES[0]!, source, options }: Said): Promise<Look> {
  try {
    return await api.call('inspectModel', {}, { source: source!, options, engine })
  } catch (error) {
    if (error instanceof AppError) return { error }
    throw error
  }
}

async function engineFor(source: string | null, ask: () => Promise<Look>): Promise<string> {
  const needed = '--engine is needed'
  if (source === null) throw mistake('--source is needed, or --engine of one that needs no files')
  if (source.startsWith('ollama:')) throw mistake(`${needed}: ollama runs ollama: sources`)
  const found = await ask()
  if ('error' in found)
    throw mistake(`${needed}, for its files cannot be looked into: ${plain(firstSentence(found.error.message))}`)
  if (found.header?.format === 'gguf') return GGUF_ENGINES[0]!
  const hint = found.header ? 'vllm and sglang run safetensors' : 'flotilla engines lists what there is'
  throw mistake(`${needed}, for its files are not one GGUF model: ${hint}`)
}

/** By the name of the file; what a URL has after its path is no part of it. */
function isGgufName(source: string): boolean {
  return /\.gguf$/i.test(source.replace(/[?#].*$/s, '').replace(/@[^/]*$/, ''))
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => (result ??= work())
}

function mistake(what: string): AppError {
  return new AppError('usage', `flotilla models add: ${what}.`)
}
