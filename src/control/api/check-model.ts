import { modelMistakes, type EngineWants, type ModelMistake } from '../../core/declare/model-mistakes.ts'
import type { Model } from '../../core/types.ts'
import { splitParts } from '../../model-files/source/split-parts.ts'
import { parseSource, type Source } from '../../model-files/source/source.ts'
import { AppError, messageOf } from '../../platform/errors.ts'
import type { Sql } from '../../store/sql.ts'
import { listReportedEngines } from '../../store/nouns/node-engines.ts'
import { loadWorld } from '../../store/world/world.ts'
import { findBelow } from '../facts/models-folder.ts'
import { nodesThatMayTell } from '../facts/read-facts.ts'
import type { AdminDeps } from './deps.ts'

type Written = Pick<Model, 'engine' | 'source' | 'options'>

/** A file on nodes is asked for on so many of them; with more it is not judged. */
const MOST_NODES_ASKED = 32
/** The limit for checking one path. A hung drive or an absent node does not prove that the file is missing. */
const ANSWER_WITHIN_MS = 5000

/** What is wrong with a model as the cluster is now, beside what was wrong with it before. */
export async function mistakesOf(deps: AdminDeps, model: Written, before?: Written): Promise<ModelMistake[]> {
  const engines = await engineWants(deps.db)
  const known = new Set(before ? modelMistakes(before, engines).map(({ text }) => text) : [])
  const mistakes = modelMistakes(model, engines).filter(({ text }) => !known.has(text))
  if (model.source !== null && model.source !== before?.source) {
    const text = await missingSource(deps, model)
    if (text !== undefined) mistakes.push({ param: 'source', text })
  }
  return mistakes
}

/** Refuses a model that cannot run as things are, unless it is meant for later. */
export async function refuseMistakes(deps: AdminDeps, model: Written, before?: Written): Promise<void> {
  const mistakes = await mistakesOf(deps, model, before)
  const [first] = mistakes
  if (!first) return
  const later = 'To save it anyway, for a node or file that comes later: --later (?later=true in the API).'
  throw new AppError('bad_request', `${mistakes.map(({ text }) => text).join(' ')} ${later}`, {
    details: { param: first.param, mistakes },
  })
}

export async function engineWants(sql: Sql): Promise<EngineWants[]> {
  return (await listReportedEngines(sql)).map(
    ({ name, option_names: names, shell_option: line, needs_source, uses }) => ({
      name,
      optionNames: names ?? null,
      memoryOptions: [uses.share?.option, uses.devices_option, uses.bytes_option].filter((one) => one !== undefined),
      shellOption: line ?? null,
      needsSource: needs_source ?? false,
    }),
  )
}

/** Only what can be known at once: a file below our own models folder, and one that every node says it does not have. */
async function missingSource(deps: AdminDeps, model: Written): Promise<string | undefined> {
  const text = model.source!
  if (text.startsWith('ollama:')) return undefined
  const source = readSource(text)
  if (typeof source === 'string') return source
  if (source.kind === 'frontend') return missingBelow(deps.modelsFolder, source.path)
  return source.kind === 'local' && text.startsWith('file:') ? missingOnNodes(deps, model, source.path) : undefined
}

function readSource(text: string): Source | string {
  try {
    return parseSource(text)
  } catch (error) {
    return messageOf(error)
  }
}

async function missingBelow(folder: string, path: string): Promise<string | undefined> {
  try {
    for (const part of splitParts(path)) await findBelow(folder, part)
    return undefined
  } catch (error) {
    return error instanceof AppError && error.code === 'not_found' ? error.message : undefined
  }
}

async function missingOnNodes(deps: AdminDeps, model: Written, path: string): Promise<string | undefined> {
  const nodes = nodesThatMayTell(model, (await loadWorld(deps.db)).nodes)
  if (nodes.length === 0 || nodes.length > MOST_NODES_ASKED) return undefined
  const missing = await Promise.all(
    nodes.map(async ({ id: nodeId }) => {
      try {
        const asked = { source: model.source!, options: {} }
        await deps.bus.request('modelInspect', asked, { nodeId, timeoutMs: ANSWER_WITHIN_MS })
        return false
      } catch (error) {
        return error instanceof AppError && error.code === 'not_found'
      }
    }),
  )
  if (!missing.every(Boolean)) return undefined
  const where = nodes.length === 1 ? nodes[0]!.name : `any of the ${nodes.length} nodes that could run it`
  return `There is no file or folder ${path} on ${where}.`
}
