import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'
import { z } from 'zod'
import { AppError } from '../../platform/errors.ts'
import { fileProblem } from '../../platform/file-problem.ts'
import { nothingImported, shortName, type Imported, type ImportedModel } from './imported.ts'

const MOST_MANIFESTS = 10_000
const MOST_BYTES = 1024 * 1024

const manifestSchema = z.object({
  layers: z.array(z.object({ mediaType: z.string(), digest: z.string().regex(/^sha256:[0-9a-f]{64}$/) })),
})
const KIND = 'application/vnd.ollama.image.'

/** Every model of a folder of Ollama's: `manifests` names blobs, and the blob of a model is a GGUF file. */
export function readOllamaStore(folder: string): Imported {
  const root = resolve(folder)
  const imported = nothingImported()
  for (const path of manifestsIn(root)) {
    const { model, notes } = modelAt(root, path)
    if (model) imported.document.models.push(model)
    imported.notes.push(...notes)
  }
  if (imported.document.models.length > 0) {
    imported.notes.push(
      'The files stay where they are: only machines that have this folder can run these models, and Ollama may delete them (ollama rm).',
    )
  }
  return imported
}

function manifestsIn(root: string): string[] {
  const folder = join(root, 'manifests')
  try {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    return names
      .filter((name) => statSync(join(folder, name)).isFile())
      .toSorted()
      .slice(0, MOST_MANIFESTS)
  } catch (cause) {
    throw new AppError('usage', `${root} is no folder of Ollama's: ${fileProblem(cause)}.`, { cause })
  }
}

function modelAt(root: string, path: string): { model?: ImportedModel; notes: string[] } {
  const name = nameOf(path)
  const layers = layersOf(join(root, 'manifests', path))
  const blobOf = (kind: string): string | undefined => {
    const digest = layers?.find(({ mediaType }) => mediaType === `${KIND}${kind}`)?.digest
    return digest === undefined ? undefined : join(root, 'blobs', digest.replace(':', '-'))
  }
  const file = blobOf('model')
  if (layers === undefined || file === undefined) return { notes: [`${name} has no file that could be run.`] }
  if (!existsSync(file)) return { notes: [`${name} is not whole: ${file} is missing.`] }
  const projector = blobOf('projector')
  // Its template is in the file as well.
  const notes = ['adapter', 'system']
    .filter((kind) => blobOf(kind) !== undefined)
    .map((kind) => `${name}: its ${kind} has no place here${kind === 'system' ? ': send it with each request' : ''}.`)
  const { context, rest } = parametersOf(blobOf('params'))
  if (rest.length > 0)
    notes.push(`${name}: its parameters (${rest.join(', ')}) are not kept: send them with each request.`)
  const options = {
    ...(context === undefined ? {} : { context }),
    ...(projector === undefined ? {} : { mmproj: `file:${projector}` }),
  }
  const engine = projector === undefined ? 'llama' : 'llama-server'
  const model = { name, engine, source: `file:${file}`, ...(Object.keys(options).length > 0 ? { options } : {}) }
  return { model, notes }
}

/** `registry…/library/llama3.2/3b` is llama3.2:3b; other names keep their author. */
function nameOf(path: string): string {
  const [host, ...parts] = path.split(sep)
  const tag = parts.pop()
  const owned = parts[0] === 'library' ? parts.slice(1) : parts
  const isUsual = host === undefined || host.startsWith('registry.ollama.')
  return shortName(`${isUsual ? '' : `${host}/`}${owned.join('/')}:${tag}`)
}

function layersOf(file: string): z.infer<typeof manifestSchema>['layers'] | undefined {
  return manifestSchema.safeParse(readJson(file)).data?.layers
}

function parametersOf(file: string | undefined): { context: number | undefined; rest: string[] } {
  const { num_ctx: context, ...rest } = (z.looseObject({}).safeParse(file && readJson(file)).data ?? {}) as {
    num_ctx?: unknown
  }
  return { context: typeof context === 'number' && context > 0 ? context : undefined, rest: Object.keys(rest) }
}

function readJson(file: string): unknown {
  try {
    if (statSync(file).size > MOST_BYTES) return undefined
    return JSON.parse(readFileSync(file, 'utf8')) as unknown
  } catch {
    return undefined
  }
}
