import { nearNames } from '../../core/lib/near-names.ts'
import { AppError } from '../../platform/errors.ts'
import type { ServedModel } from '../table/routing-table.ts'

/** Paths of OpenAI's and Anthropic's APIs. Requests for other paths are forwarded as well, by their model. */
const KNOWN_PATHS = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/responses',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/embeddings',
  '/v1/rerank',
  '/v1/score',
  '/v1/audio/transcriptions',
  '/v1/audio/translations',
  '/v1/audio/speech',
  '/v1/images/generations',
  '/v1/images/edits',
  '/v1/images/variations',
  '/v1/moderations',
] as const
const KNOWN: ReadonlySet<string> = new Set(KNOWN_PATHS)

/** The error for a request that is not a POST, and not for the models. */
export function notPosted(method: string, path: string): AppError {
  if (!KNOWN.has(path)) return misspelt(path) ?? new AppError('not_found', `There is nothing to ${method} at ${path}.`)
  return new AppError('method_not_allowed', `${path} takes POST only, not ${method}.`, { allow: ['POST'] })
}

/** The error for an unknown path that resembles a known one. */
export function misspelt(path: string): AppError | undefined {
  if (KNOWN.has(path)) return undefined
  const near = nearestOf(KNOWN_PATHS, path)
  if (near === undefined) return undefined
  return new AppError('not_found', `There is no ${path.slice(0, MOST_COMPARED)}. Did you mean ${near}?`)
}

/** The error for a path that the model's engine does not serve. The model is not loaded, and no engine is asked. */
export function notServed(
  { name, engine, serves }: Pick<ServedModel, 'name' | 'engine' | 'serves'>,
  path: string,
): AppError {
  const paths = [...(serves ?? [])]
  const asked = path.slice(0, MOST_COMPARED)
  const near = KNOWN.has(path) ? undefined : nearestOf(paths, path)
  const hint = near === undefined ? `It serves ${paths.join(', ')}.` : `Did you mean ${near}?`
  const text = `${name} runs on the engine ${engine}, which does not serve ${asked}. ${hint}`
  // Not 404, which clients of Anthropic's API read as a wrong model name.
  return new AppError('bad_request', text, { details: { code: 'path_not_served' } })
}

function nearestOf(paths: readonly string[], path: string): string | undefined {
  return nearNames(path.slice(0, MOST_COMPARED), paths, 1)[0]
}

/** A limit, because comparing takes the product of both lengths, and the client chooses the path. */
const MOST_COMPARED = 200
