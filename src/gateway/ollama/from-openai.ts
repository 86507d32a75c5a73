/** Pure: translates OpenAI's answers into Ollama's. */

/** The times of an answer, in milliseconds. */
export interface Times {
  startMs: number
  /** How long the request waited for its model. */
  loadMs: number
  firstMs: number | undefined
  nowMs: number
}

export type AnswerKind = 'chat' | 'generate'

interface ToolCall {
  id?: string
  function: { name: string; arguments: unknown }
}

/** Facts about an answer, collected until its end. */
export interface Heard {
  reason: string | undefined
  promptTokens: number | undefined
  answerTokens: number | undefined
  /** As measured by the engine, if it reports it. */
  promptMs: number | undefined
  answerMs: number | undefined
  calls: Map<number, { id: string | undefined; name: string; json: string }>
}

export function nothingHeard(): Heard {
  return {
    reason: undefined,
    promptTokens: undefined,
    answerTokens: undefined,
    promptMs: undefined,
    answerMs: undefined,
    calls: new Map(),
  }
}

/** The text of an answer, or of a piece of it. */
export interface Said {
  content: string
  thinking: string
}

/** Takes in one event of a stream, or a whole answer; returns what is new in it. */
export function hear(heard: Heard, answer: unknown): Said {
  const { choices, usage, timings } = asObject(answer)
  const choice = asObject(Array.isArray(choices) ? choices[0] : undefined)
  const said = asObject(choice['delta'] ?? choice['message'])
  const { prompt_tokens: promptTokens, completion_tokens: answerTokens } = asObject(usage)
  const { prompt_ms: promptMs, predicted_ms: answerMs } = asObject(timings)
  heard.reason = textOf(choice['finish_reason']) || heard.reason
  heard.promptTokens = numberOf(promptTokens) ?? heard.promptTokens
  heard.answerTokens = numberOf(answerTokens) ?? heard.answerTokens
  heard.promptMs = numberOf(promptMs) ?? heard.promptMs
  heard.answerMs = numberOf(answerMs) ?? heard.answerMs
  if (Array.isArray(said['tool_calls'])) hearCalls(heard, said['tool_calls'])
  return {
    content: textOf(said['content']) || textOf(choice['text']),
    thinking: textOf(said['reasoning_content']) || textOf(said['reasoning']),
  }
}

/** Tool calls come in pieces that carry their index; Ollama's clients get each call whole. */
function hearCalls({ calls }: Heard, pieces: readonly unknown[]): void {
  for (const [i, piece] of pieces.entries()) {
    const { index, id, function: called } = asObject(piece)
    const { name, arguments: json } = asObject(called)
    const at = numberOf(index) ?? i
    const known = calls.get(at) ?? { id: undefined, name: '', json: '' }
    known.id ??= textOf(id) || undefined
    known.name += textOf(name)
    known.json += textOf(json)
    calls.set(at, known)
  }
}

/** One record of a stream. */
export function pieceRecord(kind: AnswerKind, model: string, said: Said, nowMs: number): object {
  return { model, created_at: timeText(nowMs), ...saidIn(kind, said, []), done: false }
}

/** The last record of a stream, or the only one. */
export function lastRecord(kind: AnswerKind, model: string, heard: Heard, said: Said, times: Times): object {
  const { startMs, loadMs, firstMs = times.nowMs, nowMs } = times
  const reason = heard.reason === 'length' ? 'length' : 'stop'
  return {
    model,
    created_at: timeText(nowMs),
    ...saidIn(kind, said, wholeCalls(heard)),
    done: true,
    done_reason: reason,
    total_duration: nanoseconds(nowMs - startMs),
    load_duration: nanoseconds(loadMs),
    prompt_eval_count: heard.promptTokens ?? 0,
    prompt_eval_duration: nanoseconds(heard.promptMs ?? firstMs - startMs - loadMs),
    eval_count: heard.answerTokens ?? 0,
    eval_duration: nanoseconds(heard.answerMs ?? nowMs - firstMs),
  }
}

/** The answer to a request that only loads the model. */
export function loadedRecord(kind: AnswerKind, model: string, nowMs: number): object {
  const nothing = saidIn(kind, { content: '', thinking: '' }, [])
  return { model, created_at: timeText(nowMs), ...nothing, done: true, done_reason: 'load' }
}

/** `/api/embed`; the old `/api/embeddings` takes one text and gives one vector. */
export function embedRecord(model: string, answer: unknown, times: Times): object {
  const { data, usage } = asObject(answer)
  const vectors = (Array.isArray(data) ? data : []).map((entry) => asObject(entry)['embedding'])
  return {
    model,
    embeddings: vectors,
    total_duration: nanoseconds(times.nowMs - times.startMs),
    load_duration: nanoseconds(times.loadMs),
    prompt_eval_count: numberOf(asObject(usage)['prompt_tokens']) ?? 0,
  }
}

export function oldEmbeddingRecord(answer: unknown): object {
  const { data } = asObject(answer)
  return { embedding: asObject(Array.isArray(data) ? data[0] : undefined)['embedding'] ?? [] }
}

/** The message of an error in OpenAI's or Ollama's format; undefined when the answer is no error. */
export function errorText(answer: unknown): string | undefined {
  const { error } = asObject(answer)
  if (typeof error === 'string') return error
  const { message } = asObject(error)
  return typeof message === 'string' ? message : undefined
}

function saidIn(kind: AnswerKind, { content, thinking }: Said, calls: readonly ToolCall[]): object {
  const thought = thinking === '' ? {} : { thinking }
  if (kind === 'generate') return { response: content, ...thought }
  const called = calls.length === 0 ? {} : { tool_calls: calls }
  return { message: { role: 'assistant', content, ...thought, ...called } }
}

function wholeCalls({ calls }: Heard): ToolCall[] {
  return [...calls.values()].map(({ id, name, json }) => ({
    ...(id === undefined ? {} : { id }),
    function: { name, arguments: argumentsOf(json) },
  }))
}

function argumentsOf(json: string): unknown {
  if (json.trim() === '') return {}
  try {
    return JSON.parse(json) as unknown
  } catch {
    // A model may write invalid JSON; the client should see that rather than nothing.
    return { arguments: json }
  }
}

function nanoseconds(ms: number): number {
  return Math.max(0, Math.round(ms * 1e6))
}

function timeText(ms: number): string {
  return new Date(ms).toISOString()
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
