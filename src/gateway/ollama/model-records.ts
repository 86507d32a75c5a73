import { createHash } from 'node:crypto'
import type { Caller } from '../access/guard.ts'
import { findModel, mayUse } from '../access/find-model.ts'
import type { LiveTable, ServedModel } from '../table/routing-table.ts'

type Table = Pick<LiveTable, 'hasSnapshot' | 'models' | 'model' | 'routesOf'>

/** `/api/tags`: the models that the caller may use. Without sizes, because a gateway does not have the files. */
export function tagList(table: Table, caller: Caller): object {
  return { models: usableBy(table, caller).map(modelRecord) }
}

/** `/api/ps`: the models with a ready replica. */
export function runningList(table: Table, caller: Caller): object {
  const running = usableBy(table, caller).filter(({ name }) => table.routesOf(name).length > 0)
  return { models: running.map((model) => ({ ...modelRecord(model), size_vram: 0, expires_at: NEVER })) }
}

/** `/api/show`: clients read the model's capabilities from it. */
export function shownModel(table: Table, name: string, caller: Caller): object {
  const model = findModel(table, name, caller)
  const shown = { modelfile: '', parameters: '', template: '', license: '' }
  return {
    ...shown,
    modified_at: timeOf(model),
    details: detailsOf(model),
    model_info: { 'general.architecture': '', 'general.basename': model.name },
    capabilities: CAPABILITIES[model.engine] ?? ['completion', 'tools'],
  }
}

/** Ollama's clients use `name:latest` for `name` and the reverse; returns the one that exists. */
export function meantModel(table: Pick<Table, 'model'>, name: string): string {
  if (table.model(name)) return name
  const other = name.endsWith(LATEST) ? name.slice(0, -LATEST.length) : `${name}${LATEST}`
  return table.model(other) ? other : name
}

const LATEST = ':latest'
/** Flotilla unloads a model when others need its memory, which has no known time. */
const NEVER = '9999-12-31T23:59:59Z'

const CAPABILITIES: Readonly<Record<string, readonly string[]>> = {
  'text-embeddings-inference': ['embedding'],
  'whisper-server': [],
}

function usableBy(table: Table, caller: Caller): ServedModel[] {
  return table.models().filter(({ name }) => mayUse(caller, name))
}

function modelRecord(model: ServedModel): object {
  const { name } = model
  // Clients use it as an identity; it is not a hash of the files.
  const digest = createHash('sha256').update(name).digest('hex')
  return { name, model: name, modified_at: timeOf(model), size: 0, digest, details: detailsOf(model) }
}

function detailsOf({ engine }: ServedModel): object {
  const format = engine.startsWith('llama') || engine === 'ollama' ? 'gguf' : ''
  const unknown = { parameter_size: '', quantization_level: '' }
  return { parent_model: '', format, family: engine, families: [engine], ...unknown }
}

function timeOf({ createdAtMs }: ServedModel): string {
  return new Date(createdAtMs).toISOString()
}
