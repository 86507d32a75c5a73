import { badRequest } from './api-error.ts'
import { DEFAULT_DIMENSIONS, MOST_DIMENSIONS } from './embedding.ts'

/** What a chat or text completion asks for, after checking; names as in OpenAI's API. */
export interface CompletionRequest {
  prompt: string
  asked: string
  maxTokens: number | undefined
  stop: string[]
  seed: number | undefined
  stream: boolean
  includeUsage: boolean
  ignoreEnd: boolean
}

export interface EmbeddingRequest {
  inputs: string[]
  dimensions: number
  base64: boolean
}

type Body = Record<string, unknown>

const MOST_STOPS = 16
const LONGEST_STOP = 1024
const MOST_INPUTS = 2048

export function parseChat(value: unknown): CompletionRequest {
  const body = toObject(value)
  const messages = body['messages']
  if (!Array.isArray(messages) || messages.length === 0) {
    throw badRequest("'messages' must be a list of at least one message.", 'messages')
  }
  let prompt = ''
  let asked = ''
  for (const [index, message] of messages.entries()) {
    const { role, text } = toMessage(message, `messages[${index}]`)
    prompt += `<|${role}|>\n${text}\n`
    if (role === 'user') asked = text
  }
  return { prompt: `${prompt}<|assistant|>\n`, asked, ...parseCommon(body) }
}

export function parseCompletion(value: unknown): CompletionRequest {
  const body = toObject(value)
  const [prompt, ...more] = toTexts(body['prompt'], 'prompt')
  if (prompt === undefined || more.length > 0) throw badRequest('Exactly one prompt for each request.', 'prompt')
  return { prompt, asked: prompt, ...parseCommon(body) }
}

export function parseEmbedding(value: unknown): EmbeddingRequest {
  const body = toObject(value)
  checkModel(body)
  const inputs = toTexts(body['input'], 'input')
  if (inputs.length === 0 || inputs.includes('')) throw badRequest("'input' must not be empty.", 'input')
  if (inputs.length > MOST_INPUTS) throw badRequest(`'input' takes at most ${MOST_INPUTS} texts.`, 'input')
  const format = body['encoding_format'] ?? 'float'
  if (format !== 'float' && format !== 'base64') {
    throw badRequest("'encoding_format' must be 'float' or 'base64'.", 'encoding_format')
  }
  const dimensions = toInteger(body, 'dimensions', 1, MOST_DIMENSIONS) ?? DEFAULT_DIMENSIONS
  return { inputs, dimensions, base64: format === 'base64' }
}

function parseCommon(body: Body): Omit<CompletionRequest, 'prompt' | 'asked'> {
  checkModel(body)
  const choices = toInteger(body, 'n', 1, Number.MAX_SAFE_INTEGER)
  if (choices !== undefined && choices !== 1) {
    throw badRequest("Only one choice is supported: 'n' must be 1.", 'n', 'unsupported_value')
  }
  const most = Number.MAX_SAFE_INTEGER
  const maxTokens = toInteger(body, 'max_tokens', 1, most)
  const options = body['stream_options'] ?? {}
  if (!isObject(options)) throw badRequest("'stream_options' must be an object.", 'stream_options')
  return {
    maxTokens: toInteger(body, 'max_completion_tokens', 1, most) ?? maxTokens,
    stop: toStop(body['stop']),
    seed: toInteger(body, 'seed', -most, most),
    stream: toBoolean(body, 'stream'),
    includeUsage: toBoolean(options, 'include_usage', 'stream_options.include_usage'),
    ignoreEnd: toBoolean(body, 'ignore_eos'),
  }
}

/** The worker sends only what is meant for this replica, under whatever name the client used, so any name will do. */
function checkModel(body: Body): void {
  const model = body['model'] ?? ''
  if (typeof model !== 'string') throw badRequest("'model' must be a string.", 'model')
}

function toMessage(message: unknown, where: string): { role: string; text: string } {
  if (!isObject(message)) throw badRequest(`'${where}' must be an object.`, where)
  const { role, content } = message
  if (typeof role !== 'string' || role === '') throw badRequest(`'${where}.role' must be a string.`, `${where}.role`)
  // An assistant message with tool calls has no content of its own.
  if (content === null || content === undefined) {
    if (role === 'assistant') return { role, text: '' }
    throw badRequest(`'${where}.content' is missing.`, `${where}.content`)
  }
  if (typeof content === 'string') return { role, text: content }
  if (!Array.isArray(content)) {
    throw badRequest(`'${where}.content' must be a string or a list of parts.`, `${where}.content`)
  }
  return { role, text: content.map((part, index) => toPartText(part, `${where}.content[${index}]`)).join('\n') }
}

function toPartText(part: unknown, where: string): string {
  if (!isObject(part) || typeof part['type'] !== 'string') {
    throw badRequest(`'${where}' must be an object with a 'type'.`, where)
  }
  if (part['type'] !== 'text' && part['type'] !== 'input_text') return `[${part['type']}]`
  if (typeof part['text'] !== 'string') throw badRequest(`'${where}.text' must be a string.`, `${where}.text`)
  return part['text']
}

/** A text, a list of texts, a list of token numbers, or a list of such lists: all that OpenAI takes. */
function toTexts(value: unknown, param: string): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) {
    if (value.every((item) => typeof item === 'string')) return value
    if (isTokens(value)) return [value.join(' ')]
    if (value.every(isTokens)) return value.map((tokens) => tokens.join(' '))
  }
  throw badRequest(`'${param}' must be a string or a list of strings.`, param)
}

function isTokens(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => Number.isSafeInteger(item))
}

function toStop(value: unknown): string[] {
  if (value === undefined || value === null) return []
  const stops: unknown[] = Array.isArray(value) ? value : [value]
  const fits = (stop: unknown): stop is string => typeof stop === 'string' && stop !== '' && stop.length <= LONGEST_STOP
  if (stops.length <= MOST_STOPS && stops.every(fits)) return stops
  throw badRequest(`'stop' must be a non-empty string or a list of at most ${MOST_STOPS} of them.`, 'stop')
}

function toInteger(body: Body, name: string, least: number, most: number): number | undefined {
  const value = body[name]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return value
  const range =
    most === Number.MAX_SAFE_INTEGER ? (least === -most ? '' : ` of at least ${least}`) : ` from ${least} to ${most}`
  throw badRequest(`'${name}' must be a whole number${range}.`, name)
}

function toBoolean(body: Body, name: string, param = name): boolean {
  const value = body[name] ?? false
  if (typeof value === 'boolean') return value
  throw badRequest(`'${param}' must be true or false.`, param)
}

function toObject(value: unknown): Body {
  if (isObject(value)) return value
  throw badRequest('The body must be a JSON object.')
}

function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
