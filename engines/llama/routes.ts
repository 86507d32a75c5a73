import { ApiError } from '../lib/api-error.ts'
import { readJson } from '../lib/body.ts'
import { embeddingList } from '../lib/embedding-list.ts'
import { answerJson, drained, openStream } from '../lib/reply.ts'
import type { Call } from '../lib/server.ts'
import type { LlamaEngine, Run } from './engine.ts'
import { metricsText } from './metrics.ts'
import { readAnswer } from './answers/read-answer.ts'
import { parseChat, parseCompletion, type CompletionRequest } from './requests.ts'
import type { ToolUse } from './answers/tools.ts'
import { parseEmbedding, parseRank } from './vectors/vector-requests.ts'
import { modelList, shapeOf, type Whole } from './wire.ts'

/** The loading state: `engine` is set once the model is in memory. */
export interface EngineState {
  alias: string
  startedMs: number
  /** From 0 to 1. */
  progress: number
  engine: LlamaEngine | undefined
}

export interface Route {
  method: 'GET' | 'POST'
  answer: (call: Call) => Promise<void> | void
}

export function routesOf(state: EngineState): Map<string, Route> {
  const inference = (work: (engine: LlamaEngine, body: unknown, call: Call) => Promise<void>): Route => ({
    method: 'POST',
    answer: (call) => infer(state, call, work),
  })
  return new Map<string, Route>([
    ['/health', { method: 'GET', answer: (call) => answerHealth(state, call) }],
    ['/metrics', { method: 'GET', answer: (call) => answerMetrics(readyEngine(state), call) }],
    ['/v1/models', { method: 'GET', answer: (call) => answerModels(state, call) }],
    ['/v1/chat/completions', inference(chat)],
    ['/v1/completions', inference(complete)],
    ['/v1/embeddings', inference(embed)],
    ['/v1/rerank', inference(rank)],
  ])
}

function answerHealth({ engine, alias, progress }: EngineState, { response }: Call): void {
  const who = { model: alias, engine: 'llama' }
  if (!engine) return answerJson(response, 503, { status: 'loading', progress, ...who })
  const { slots, settings, model } = engine
  const load = { slots: settings.parallel, in_use: slots.inUse, queued: slots.queued }
  const how = { context: model.contextTokens, threads: model.threads, gpu: model.gpu }
  answerJson(response, 200, { status: 'ok', ...load, ...how, ...who })
}

function answerMetrics(engine: LlamaEngine, { response }: Call): void {
  response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' })
  response.end(metricsText(engine))
}

function answerModels({ engine, alias, startedMs }: EngineState, { response }: Call): void {
  answerJson(response, 200, modelList(alias, Math.floor(startedMs / 1000), engine?.model.contextTokens))
}

function readyEngine({ engine }: EngineState): LlamaEngine {
  if (engine) return engine
  throw new ApiError(503, 'The model is still loading.', { code: 'model_loading', retryAfterS: 1 })
}

async function infer(
  state: EngineState,
  call: Call,
  work: (engine: LlamaEngine, body: unknown, call: Call) => Promise<void>,
): Promise<void> {
  const engine = readyEngine(state)
  engine.counters.requests += 1
  call.signal.addEventListener('abort', () => (engine.counters.aborted += 1), { once: true })
  const body = await readJson(call.request)
  if (body) await work(engine, body.value, call)
}

async function chat(engine: LlamaEngine, body: unknown, call: Call): Promise<void> {
  const asked = parseChat(body)
  return answer(engine, 'chat', asked, asked.tools, await engine.chat(asked, call.signal), call)
}

async function complete(engine: LlamaEngine, body: unknown, call: Call): Promise<void> {
  const asked = parseCompletion(body)
  return answer(engine, 'text', asked, undefined, await engine.complete(asked, call.signal), call)
}

async function answer(
  { settings }: LlamaEngine,
  kind: 'chat' | 'text',
  asked: CompletionRequest,
  tools: ToolUse | undefined,
  { tally, pieces }: Run,
  { response, signal }: Call,
): Promise<void> {
  const { stream, includeUsage, logprobs } = asked
  const hasLogprobs = logprobs !== undefined
  const shape = shapeOf({ kind, model: settings.alias, nowMs: Date.now(), includeUsage, hasLogprobs })
  const whole: Whole = { text: '', tokens: [], calls: [] }
  for await (const part of readAnswer(pieces, tools)) {
    if ('calls' in part) whole.calls = part.calls
    else if (!stream) {
      whole.text += part.text
      whole.tokens.push(...part.tokens)
    }
    if (!stream) continue
    // No byte is sent before the first piece, so that until then an error still gets its own status.
    if (!response.headersSent) openStream(response, shape.opening)
    const event = 'calls' in part ? shape.calls(part.calls) : shape.piece(part.text, part.tokens)
    if (!response.write(event)) await drained(response, signal)
  }
  if (signal.aborted) return
  if (!stream) return answerJson(response, 200, shape.whole(whole, tally))
  if (!response.headersSent) openStream(response, shape.opening)
  response.end(shape.closing(tally, whole.calls.length > 0))
}

async function embed(engine: LlamaEngine, body: unknown, { response, signal }: Call): Promise<void> {
  const asked = parseEmbedding(body)
  const { vectors, promptTokens } = await engine.embed(asked.inputs, asked.dimensions, signal)
  if (signal.aborted) return
  answerJson(response, 200, embeddingList(engine.settings.alias, vectors, asked.base64, promptTokens))
}

async function rank(engine: LlamaEngine, body: unknown, { response, signal }: Call): Promise<void> {
  const { query, documents, most, returnDocuments } = parseRank(body)
  const { scores, promptTokens } = await engine.rank(query, documents, signal)
  if (signal.aborted) return
  const results = scores
    .map((score, index) => ({
      index,
      relevance_score: score,
      ...(returnDocuments && { document: { text: documents[index] } }),
    }))
    .toSorted((one, other) => other.relevance_score - one.relevance_score)
    .slice(0, most)
  const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens }
  answerJson(response, 200, { object: 'list', model: engine.settings.alias, results, usage })
}
