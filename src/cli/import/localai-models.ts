import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { AppError } from '../../platform/errors.ts'
import { fileProblem } from '../../platform/file-problem.ts'
import { readYamlFile } from '../yaml-file.ts'
import { nothingImported, type Imported, type ImportedModel } from './imported.ts'

const MOST_BYTES = 1024 * 1024
const MOST_FILES = 10_000

const configSchema = z.looseObject({
  name: z.string(),
  backend: z.string().nullish(),
  context_size: z.int().nullish(),
  mmproj: z.string().nullish(),
  parameters: z.looseObject({ model: z.string().nullish() }).nullish(),
})
type ModelConfig = z.infer<typeof configSchema>

/** By LocalAI's backends: what runs such models here, and whether a plain name means a repository of Hugging Face. */
const ENGINES: Readonly<Record<string, { engine: string; isHub: boolean }>> = {
  '': { engine: 'llama', isHub: false },
  llama: { engine: 'llama', isHub: false },
  'llama-cpp': { engine: 'llama', isHub: false },
  vllm: { engine: 'vllm', isHub: true },
  sglang: { engine: 'sglang', isHub: true },
  mlx: { engine: 'mlx-lm', isHub: true },
  whisper: { engine: 'whisper-server', isHub: false },
}

/** The models of LocalAI's folder: a YAML file describes each; the files they name are used where they are. */
export async function readLocalAiModels(folder: string): Promise<Imported> {
  const imported = nothingImported()
  for (const name of yamlFilesIn(folder)) {
    const { values } = await readYamlFile(join(folder, name), MOST_BYTES, 'description of a model')
    const { data } = configSchema.safeParse(values)
    if (!data) {
      imported.notes.push(`${name} describes no model: it has no name.`)
      continue
    }
    const { model, notes } = modelOf(data, folder)
    if (model) imported.document.models.push(model)
    imported.notes.push(...notes)
  }
  return imported
}

function yamlFilesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => /\.ya?ml$/.test(name))
      .toSorted()
      .slice(0, MOST_FILES)
  } catch (cause) {
    throw new AppError('usage', `Cannot read the folder ${folder}: ${fileProblem(cause)}.`, { cause })
  }
}

/** Pure: one of their models in our terms, with what has no place. */
export function modelOf(config: ModelConfig, folder: string): { model?: ImportedModel; notes: string[] } {
  const { name, backend, parameters, context_size: context, mmproj } = config
  const known = ENGINES[(backend ?? '').replace(/^(cpu|cuda\d*|rocm|vulkan|metal)-/, '')]
  if (!known) return { notes: [`${name}: nothing here does what the backend ${backend} does.`] }
  const file = parameters?.model
  if (!file) return { notes: [`${name} names no file (parameters.model).`] }
  const source = sourceOf(file, folder, known.isHub)
  const options = {
    ...(context ? { context } : {}),
    ...(mmproj ? { mmproj: sourceOf(mmproj, folder, false) } : {}),
  }
  const engine = mmproj && known.engine === 'llama' ? 'llama-server' : known.engine
  const rest = Object.keys(config).filter((key) => !UNDERSTOOD.has(key) && !NO_MATTER.has(key))
  const notes = rest.length === 0 ? [] : [`${name}: ${rest.join(', ')} has no place here.`]
  return { model: { name, engine, source, ...(Object.keys(options).length > 0 ? { options } : {}) }, notes }
}

function sourceOf(file: string, folder: string, isHub: boolean): string {
  if (/^https?:\/\//.test(file)) return file
  const [, hub] = /^(?:huggingface|hf):\/\/(.+)$/.exec(file) ?? []
  if (hub !== undefined) return `hf:${hub}`
  return isHub ? `hf:${file}` : `file:${resolve(folder, file)}`
}

const UNDERSTOOD: ReadonlySet<string> = new Set(['name', 'backend', 'parameters', 'context_size', 'mmproj'])
/** For people, or what engines know from the file itself. */
const NO_MATTER: ReadonlySet<string> = new Set([
  'description',
  'usage',
  'f16',
  'mmap',
  'template',
  'stopwords',
  'known_usecases',
])
