import { nearNames } from '../core/lib/near-names.ts'
import { AppError } from '../platform/errors.ts'

/** What engines serve of OpenAI's and Anthropic's APIs. A request for any other path is passed on as well, by its model. */
export const KNOWN_PATHS = [
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

/** A request that is no POST, and none for the models. */
export function notPosted(method: string, path: string): AppError {
  if (!KNOWN.has(path)) return misspelt(path) ?? new AppError('not_found', `There is nothing to ${method} at ${path}.`)
  return new AppError('method_not_allowed', `${path} takes POST only, not ${method}.`, { allow: ['POST'] })
}

/** What to say of a path that is not known and looks like one that is. */
export function misspelt(path: string): AppError | undefined {
  const near = nearPaths(path)
  if (near.length === 0) return undefined
  return new AppError('not_found', `There is no ${path.slice(0, MOST_COMPARED)}. Did you mean ${near.join(' or ')}?`)
}

/** None for one that is known: nothing is wrong with it. */
export function nearPaths(path: string): string[] {
  return KNOWN.has(path) ? [] : nearNames(path.slice(0, MOST_COMPARED), KNOWN_PATHS, 2)
}

/** Comparing takes the product of both lengths, and the path is a stranger's. */
const MOST_COMPARED = 200
