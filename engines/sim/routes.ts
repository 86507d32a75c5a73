import { badRequest } from '../lib/api-error.ts'
import { readJson } from '../lib/body.ts'
import { embeddingList } from '../lib/embedding-list.ts'
import type { Call } from '../lib/server.ts'
import type { Engine } from './engine.ts'
import { parseFault } from './faults.ts'
import type { Loading } from './loading.ts'
import { answerJson, drained, openStream, type Log } from '../lib/reply.ts'
import { parseChat, parseCompletion, parseEmbedding, type CompletionRequest } from './requests.ts'
import { modelList, shapeOf, type CompletionKind } from './wire.ts'

export interface Route {
  method: 'GET' | 'POST'
  /** Inference counts as a request, needs a loaded model and meets every fault; a hang holds plain ones too; `sim` never. */
  kind: 'inference' | 'plain' | 'sim'
  answer: (call: Call) => Promise<void> | void
}

export interface RouteDeps {
  engine: Engine
  loading: Loading
  log: Log
}

export function routesOf(deps: RouteDeps): Map<string, Route> {
  return new Map<string, Route>([
    ['/health', { method: 'GET', kind: 'plain', answer: (call) => answerHealth(deps, call) }],
    ['/v1/models', { method: 'GET', kind: 'plain', answer: (call) => answerModels(deps, call) }],
    ['/v1/chat/completions', { method: 'POST', kind: 'inference', answer: completions(deps, 'chat', parseChat) }],
    ['/v1/completions', { method: 'POST', kind: 'inference', answer: completions(deps, 'text', parseCompletion) }],
    ['/v1/embeddings', { method: 'POST', kind: 'inference', answer: (call) => answerEmbeddings(deps, call) }],
    ['/sim/state', { method: 'GET', kind: 'sim', answer: (call) => answerState(deps, call) }],
    ['/sim/fault', { method: 'POST', kind: 'sim', answer: (call) => setFault(deps, call) }],
    ['/sim/load', { method: 'POST', kind: 'sim', answer: (call) => finishLoad(deps, call) }],
  ])
}

function answerHealth({ engine, loading }: RouteDeps, { response }: Call): void {
  const { options, slots } = engine
  const who = { model: options.model, engine: 'sim', memory_bytes: options.memoryBytes }
  if (!loading.ready) return answerJson(response, 503, { status: 'loading', progress: loading.progress, ...who })
  const load = { slots: options.parallel, in_use: slots.inUse, queued: slots.queued }
  answerJson(response, 200, { status: 'ok', ...load, ...who })
}

function answerModels({ engine: { options, startedMs } }: RouteDeps, { response }: Call): void {
  answerJson(response, 200, modelList(options.model, Math.floor(startedMs / 1000), options.contextTokens))
}

function completions({ engine }: RouteDeps, kind: CompletionKind, parse: (value: unknown) => CompletionRequest) {
  return async ({ request, response, signal }: Call): Promise<void> => {
    const body = await readJson(request)
    if (!body) return
    const asked = parse(body.value)
    const { tally, tokens } = engine.complete(asked, signal, kind === 'chat' ? 'messages' : 'prompt')
    const shape = shapeOf(kind, engine.options.model, Date.now(), asked.includeUsage)
    let text = ''
    for await (const group of tokens) {
      if (asked.stream) {
        // No byte is sent before the first token, so that until then an error still gets its own status.
        if (!response.headersSent) openStream(response, shape.opening)
        // One event for each token, since clients count them, but one write for all that are due.
        if (!response.write(group.map((token) => shape.token(token)).join(''))) await drained(response, signal)
      } else {
        text += group.join('')
      }
    }
    if (signal.aborted) return
    if (!asked.stream) return answerJson(response, 200, shape.whole(text, tally))
    if (!response.headersSent) openStream(response, shape.opening)
    response.end(shape.closing(tally))
  }
}

async function answerEmbeddings({ engine }: RouteDeps, { request, response, signal }: Call): Promise<void> {
  const body = await readJson(request)
  if (!body) return
  const asked = parseEmbedding(body.value)
  const { vectors, promptTokens } = await engine.embed(asked, signal)
  if (signal.aborted) return
  answerJson(response, 200, embeddingList(engine.options.model, vectors, asked.base64, promptTokens))
}

function answerState({ engine, loading }: RouteDeps, { response }: Call): void {
  const { counters, slots, faults, options, startedMs } = engine
  answerJson(response, 200, {
    model: options.model,
    pid: process.pid,
    uptime_ms: Date.now() - startedMs,
    ready: loading.ready,
    requests: counters.requests,
    in_flight: slots.inUse,
    queued: slots.queued,
    finished: counters.finished,
    aborted: counters.aborted,
    rejected: counters.rejected,
    refused: counters.refused,
    prompt_tokens: counters.promptTokens,
    cached_tokens: counters.cachedTokens,
    completion_tokens: counters.completionTokens,
    prefix_hits: counters.prefixHits,
    fault: { planned: faults.planned.kind, active: faults.active },
  })
}

async function setFault({ engine: { faults }, log }: RouteDeps, { request, response }: Call): Promise<void> {
  const body = await readJson(request)
  if (!body) return
  const fault = parseFault(body.value)
  if (typeof fault === 'string') throw badRequest(fault)
  log(`fault set: ${JSON.stringify(body.value)}`)
  faults.set(fault)
  answerJson(response, 200, { planned: fault.kind, active: faults.active })
}

function finishLoad({ loading }: RouteDeps, { response }: Call): void {
  loading.finish()
  answerJson(response, 200, { ready: true })
}
