import { badRequest } from '../lib/api-error.ts'
import { isObject, toBoolean, toInputs, toInteger, toNumber, toObject, toStop, type Body } from '../lib/fields.ts'
import { readMessages, type ChatMessage } from './answers/messages.ts'
import { readFormat, type AnswerFormat } from './answers/answer-format.ts'
import { readTools, type ToolUse } from './answers/tools.ts'

/** The checked fields of both kinds of completion; names as in OpenAI's API. */
export interface CompletionRequest {
  maxTokens: number | undefined
  stop: string[]
  stream: boolean
  includeUsage: boolean
  ignoreEnd: boolean
  /** How many alternatives to report with each token; undefined: no probabilities. */
  logprobs: number | undefined
  format: AnswerFormat
  sampling: Sampling
}

export interface ChatRequest extends CompletionRequest {
  messages: ChatMessage[]
  tools: ToolUse | undefined
  /** Values that the template may read beside the messages. */
  templateValues: Record<string, unknown>
}

export interface TextRequest extends CompletionRequest {
  prompt: string | number[]
}

export interface Sampling {
  temperature: number
  topK: number
  topP: number
  minP: number
  seed: number | undefined
  repeatPenalty: number
  frequencyPenalty: number
  presencePenalty: number
  bias: ReadonlyMap<number, number>
}

const MOST_LOGPROBS = 20
const MOST_BIASES = 1024

export function parseChat(value: unknown): ChatRequest {
  const body = toObject(value)
  const common = parseCommon(body)
  const top = toInteger(body, 'top_logprobs', 0, MOST_LOGPROBS)
  const wantsLogprobs = toBoolean(body, 'logprobs')
  if (top !== undefined && !wantsLogprobs) throw badRequest("'top_logprobs' needs 'logprobs': true.", 'top_logprobs')
  const templateValues = body['chat_template_kwargs'] ?? {}
  if (!isObject(templateValues)) throw badRequest("'chat_template_kwargs' must be an object.", 'chat_template_kwargs')
  const tools = readTools(body)
  if (tools?.forced !== undefined && common.format.kind !== 'text') {
    throw badRequest("'response_format' cannot be combined with a 'tool_choice' that demands a call.", 'tool_choice')
  }
  return {
    ...common,
    messages: readMessages(body['messages']),
    tools,
    templateValues,
    logprobs: wantsLogprobs ? (top ?? 0) : undefined,
  }
}

export function parseCompletion(value: unknown): TextRequest {
  const body = toObject(value)
  const [prompt, ...more] = toInputs(body['prompt'], 'prompt')
  if (prompt === undefined || more.length > 0) throw badRequest('Exactly one prompt for each request.', 'prompt')
  if (toBoolean(body, 'echo')) throw unsupported('echo')
  if ((body['suffix'] ?? '') !== '') throw unsupported('suffix')
  return { ...parseCommon(body), prompt, logprobs: toInteger(body, 'logprobs', 0, MOST_LOGPROBS) }
}

function parseCommon(body: Body): Omit<CompletionRequest, 'logprobs'> {
  const choices = toInteger(body, 'n', 1, Number.MAX_SAFE_INTEGER)
  if (choices !== undefined && choices !== 1) {
    throw badRequest("Only one choice is supported: 'n' must be 1.", 'n', 'unsupported_value')
  }
  const maxTokens = toInteger(body, 'max_tokens', 1, Number.MAX_SAFE_INTEGER)
  const options = body['stream_options'] ?? {}
  if (!isObject(options)) throw badRequest("'stream_options' must be an object.", 'stream_options')
  return {
    maxTokens: toInteger(body, 'max_completion_tokens', 1, Number.MAX_SAFE_INTEGER) ?? maxTokens,
    stop: toStop(body['stop']),
    stream: toBoolean(body, 'stream'),
    includeUsage: toBoolean(options, 'include_usage', 'stream_options.include_usage'),
    ignoreEnd: toBoolean(body, 'ignore_eos'),
    format: readFormat(body['response_format']),
    sampling: toSampling(body),
  }
}

/** Defaults are those of llama.cpp's own server. */
function toSampling(body: Body): Sampling {
  return {
    temperature: toNumber(body, 'temperature', 0, 2) ?? 0.8,
    topK: toInteger(body, 'top_k', 0, 1_000_000) ?? 40,
    topP: toNumber(body, 'top_p', 0, 1) ?? 0.95,
    minP: toNumber(body, 'min_p', 0, 1) ?? 0.05,
    seed: toInteger(body, 'seed', -Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
    repeatPenalty: toNumber(body, 'repeat_penalty', 0, 10) ?? 1,
    frequencyPenalty: toNumber(body, 'frequency_penalty', -2, 2) ?? 0,
    presencePenalty: toNumber(body, 'presence_penalty', -2, 2) ?? 0,
    bias: toBias(body['logit_bias']),
  }
}

function toBias(value: unknown): ReadonlyMap<number, number> {
  const given = value ?? {}
  if (!isObject(given)) throw badRequest("'logit_bias' must be an object.", 'logit_bias')
  const entries = Object.entries(given)
  if (entries.length > MOST_BIASES) throw badRequest(`'logit_bias' takes at most ${MOST_BIASES} tokens.`, 'logit_bias')
  return new Map(
    entries.map(([token, bias]) => {
      if (/^\d{1,9}$/.test(token) && typeof bias === 'number' && Math.abs(bias) <= 100) return [Number(token), bias]
      throw badRequest("'logit_bias' maps numbers of tokens to numbers from -100 to 100.", 'logit_bias')
    }),
  )
}

function unsupported(param: string): Error {
  return badRequest(`'${param}' is not supported by this engine.`, param, 'unsupported_value')
}
