import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { AppError } from '../../platform/errors.ts'
import { fetchJson } from './fetch-json.ts'
import { nothingImported, shortName, type Imported, type Importer } from './imported.ts'
import { readOllamaStore } from './ollama-store.ts'

const tagsSchema = z.object({ models: z.array(z.object({ name: z.string() })).nullish() })

/** The models of an Ollama: from its folder, whose files are used where they are, or from its API, by their names. */
export const importOllama: Importer = async ({ own, env }) => {
  const url = own.get('url')
  if (url !== undefined) return fromTags(tagsSchema.parse(await fetchJson(url, 'api/tags', undefined, 'Ollama')))
  const named = own.get('folder')
  const folder = named ?? foldersOf(env).find((place) => existsSync(join(place, 'manifests')))
  if (folder !== undefined) return readOllamaStore(folder)
  const text = `flotilla import ollama: there is no folder of Ollama's here (${foldersOf(env).join(', ')}). Name it with --folder, or an Ollama that runs with --url.`
  throw new AppError('usage', text)
}

/** Pure: what an Ollama lists is fetched and run by Ollama again, on the machines that have it. */
export function fromTags({ models }: z.infer<typeof tagsSchema>): Imported {
  const { document, notes } = nothingImported()
  for (const { name } of models ?? []) {
    document.models.push({ name: shortName(name), engine: 'ollama', source: `ollama:${name}` })
  }
  if (document.models.length > 0) {
    notes.push(
      'Machines need the program ollama for these. Its files can also be run without it: --folder ~/.ollama/models.',
    )
  }
  return { document, notes }
}

function foldersOf(env: Readonly<Record<string, string | undefined>>): string[] {
  const { OLLAMA_MODELS: named, HOME: home } = env
  return [
    ...(named ? [named] : []),
    ...(home ? [join(home, '.ollama/models')] : []),
    '/usr/share/ollama/.ollama/models',
  ]
}
