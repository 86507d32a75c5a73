import type { z } from 'zod'
import {
  ollamaChatSchema,
  ollamaEmbeddingsSchema,
  ollamaEmbedSchema,
  ollamaGenerateSchema,
  ollamaShowSchema,
} from '../../api/ollama.ts'
import { clientOf } from '../../http/upstream/client-watch.ts'
import type { Clock } from '../../platform/run/clock.ts'
import { AppError, toAppError } from '../../platform/errors.ts'
import { problemText } from '../../platform/problem-text.ts'
import type { HttpRequest, HttpResponse } from '../../http/exchange.ts'
import { parseJson, pathOf, readBody, sendError, sendJson } from '../../http/server.ts'
import { version } from '../../platform/version.ts'
import type { Caller } from '../access/guard.ts'
import { findModel } from '../access/find-model.ts'
import { MOST_BODY_BYTES, roomFor, type ReadLimits } from '../access/body-room.ts'
import type { LiveTable } from '../table/routing-table.ts'
import { AskedRequest } from './asked-request.ts'
import { answerTranslation, embedTranslation } from './answer-translation.ts'
import { loadedRecord, oldEmbeddingRecord, type AnswerKind } from './from-openai.ts'
import { meantModel, runningList, shownModel, tagList } from './model-records.ts'
import { chatToOpenAi, promptToOpenAi, type OpenAiAsk } from './to-openai.ts'
import { TranslatedResponse, type Translation } from './translated-response.ts'

export interface OllamaDeps {
  table: LiveTable
  clock: Clock
  limits: Partial<ReadLimits> | undefined
  /** Serves a request of OpenAI's API. */
  infer(request: HttpRequest, response: HttpResponse, caller: Caller): void
  /** Resolves when the model has a replica; loads it if it has none. */
  whenReady(model: string, caller: Caller, gone: AbortSignal): Promise<void>
}

export type OllamaApi = (request: HttpRequest, response: HttpResponse, caller: Caller) => Promise<void>

/** The version of Ollama whose API this is: some clients reject older ones. */
const OLLAMA_VERSION = '0.12.0'

/**
 * Ollama's API on top of OpenAI's. Each request is translated, served like any other with the same picks, waits and
 * records, and its answer is translated back. Requests of OpenAI's API do not pass through here.
 */
export function ollamaApi(deps: OllamaDeps): OllamaApi {
  return async (request, response, caller) => {
    try {
      await answer(deps, request, response, caller)
    } catch (thrown) {
      sendOllamaError(response, toAppError(thrown))
    }
  }
}

export function sendOllamaError(response: HttpResponse, error: AppError): void {
  sendError(response, error, { error: error.message })
}

/** Whether the path is one of Ollama's; the admin API has no such paths. */
export function isOllamaPath(path: string): boolean {
  return Object.hasOwn(METHODS, path) || NOT_HERE.has(path) || path.startsWith('/api/blobs/')
}

const METHODS: Readonly<Record<string, 'GET' | 'POST'>> = {
  '/api/chat': 'POST',
  '/api/generate': 'POST',
  '/api/embed': 'POST',
  '/api/embeddings': 'POST',
  '/api/show': 'POST',
  '/api/tags': 'GET',
  '/api/ps': 'GET',
  '/api/version': 'GET',
}
const NOT_HERE: ReadonlySet<string> = new Set(['/api/pull', '/api/push', '/api/create', '/api/copy', '/api/delete'])

async function answer(deps: OllamaDeps, request: HttpRequest, response: HttpResponse, caller: Caller): Promise<void> {
  const path = pathOf(request)
  const method = METHODS[path]
  if (method === undefined) throw notHere(path)
  const asked = request.method === 'HEAD' ? 'GET' : request.method
  if (asked !== method) {
    const allow = method === 'GET' ? ['GET', 'HEAD'] : [method]
    throw new AppError('method_not_allowed', `${path} takes ${method} only.`, { allow })
  }
  const { table } = deps
  if (path === '/api/version') return sendJson(response, 200, { version: OLLAMA_VERSION, flotilla: version })
  if (method === 'GET') {
    if (!table.hasSnapshot()) throw noTable()
    return sendJson(response, 200, path === '/api/tags' ? tagList(table, caller) : runningList(table, caller))
  }
  const body = await readJson(deps, request, caller)
  const exchange: Exchange = { deps, request, response, caller, startMs: deps.clock.nowMs() }
  switch (path) {
    case '/api/chat': {
      const chat = read(ollamaChatSchema, body)
      const isLoad = (chat.messages ?? []).length === 0
      return answerText(exchange, 'chat', { ...chat, isLoad, toOpenAi: () => chatToOpenAi(chat) })
    }
    case '/api/generate': {
      const asked = read(ollamaGenerateSchema, body)
      const isLoad = !asked.prompt && !asked.suffix && (asked.images ?? []).length === 0
      return answerText(exchange, 'generate', { ...asked, isLoad, toOpenAi: () => promptToOpenAi(asked) })
    }
    case '/api/embed': {
      const asked = read(ollamaEmbedSchema, body)
      const { input, dimensions } = asked
      if (input === undefined || input === null)
        throw new AppError('bad_request', '"input" is missing: a text, or several.')
      return answerVectors(exchange, asked, { input, ...(dimensions ? { dimensions } : {}) })
    }
    case '/api/embeddings': {
      const asked = read(ollamaEmbeddingsSchema, body)
      return answerVectors(exchange, asked, { input: asked.prompt ?? '' }, oldEmbeddingRecord)
    }
    default:
      return sendJson(response, 200, shownModel(table, nameIn(table, read(ollamaShowSchema, body)).model, caller))
  }
}

/** Releases the body's memory once it is parsed, because the translated body is counted again by `infer`. */
async function readJson({ limits }: OllamaDeps, request: HttpRequest, { keyId }: Caller): Promise<unknown> {
  const room = roomFor(request, keyId, limits)
  try {
    return parseJson(await readBody(request, limits?.mostBodyBytes ?? MOST_BODY_BYTES, { room }))
  } finally {
    room?.release()
  }
}

interface Exchange {
  deps: OllamaDeps
  request: HttpRequest
  response: HttpResponse
  caller: Caller
  startMs: number
}

interface Named {
  model?: string | undefined
  name?: string | undefined
}

interface TextAsk extends Named {
  /** A request without a prompt, which only loads or unloads the model. */
  isLoad: boolean
  keep_alive?: number | string | null | undefined
  toOpenAi(): OpenAiAsk
}

async function answerText(exchange: Exchange, kind: AnswerKind, ask: TextAsk): Promise<void> {
  const { deps, response, startMs } = exchange
  const { model, asAsked } = nameIn(deps.table, ask)
  if (ask.isLoad && isZero(ask.keep_alive)) throw noUnload(model)
  const openAi = ask.isLoad ? undefined : ask.toOpenAi()
  const loadMs = await untilLoaded(exchange, model)
  if (!openAi) return sendJson(response, 200, loadedRecord(kind, asAsked, deps.clock.nowMs()))
  const translation = answerTranslation(kind, asAsked, { startMs, loadMs, clock: deps.clock })
  pass(exchange, { path: openAi.path, body: { model, ...openAi.body } }, translation)
}

async function answerVectors(
  exchange: Exchange,
  named: Named,
  body: Record<string, unknown>,
  toRecord?: (answer: unknown) => object,
): Promise<void> {
  const { deps, startMs } = exchange
  const { model, asAsked } = nameIn(deps.table, named)
  const loadMs = await untilLoaded(exchange, model)
  const translation = embedTranslation(asAsked, { startMs, loadMs, clock: deps.clock }, toRecord)
  pass(exchange, { path: '/v1/embeddings', body: { model, encoding_format: 'float', ...body } }, translation)
}

function pass(
  { deps, request, response, caller }: Exchange,
  { path, body }: OpenAiAsk,
  translation: Translation,
): void {
  const asked = new AskedRequest(request, path, body)
  deps.infer(asked, new TranslatedResponse(asked, response, translation), caller)
}

/** Waits until the model has a replica, and returns how long that took. The wait for a place comes later, in `infer`. */
async function untilLoaded({ deps, request, caller }: Exchange, model: string): Promise<number> {
  const { table, clock } = deps
  // First, so that a caller without permission does not learn whether the model is ready.
  findModel(table, model, caller)
  if (table.routesOf(model).length > 0) return 0
  const fromMs = clock.nowMs()
  await deps.whenReady(model, caller, clientOf(request.socket).gone)
  return clock.nowMs() - fromMs
}

function nameIn(table: LiveTable, { model, name }: Named): { model: string; asAsked: string } {
  const asAsked = model || name
  if (!asAsked) throw new AppError('bad_request', '"model" is missing: the name of a model. GET /api/tags lists them.')
  return { model: meantModel(table, asAsked), asAsked }
}

function read<T>(schema: z.ZodType<T>, body: unknown): T {
  const result = schema.safeParse(body)
  if (result.success) return result.data
  throw new AppError('bad_request', problemText(result.error.issues, 'the body'))
}

function isZero(keepAlive: number | string | null | undefined): boolean {
  return keepAlive === 0 || (typeof keepAlive === 'string' && /^0+(ns|us|µs|ms|s|m|h)?$/.test(keepAlive.trim()))
}

function noUnload(model: string): AppError {
  const text = `Flotilla unloads models when others need the room. An admin unloads one at once: flotilla models unload ${model}`
  return new AppError('not_implemented', text)
}

function notHere(path: string): AppError {
  const text = `${path} is not served here: models are added with flotilla models add, or taken over with flotilla import ollama.`
  return new AppError('not_implemented', text)
}

function noTable(): AppError {
  const text = 'This gateway has not yet received the models from the control plane. Try again in a moment.'
  return new AppError('unavailable', text, { retryAfterS: 2 })
}
