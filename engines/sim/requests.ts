import { badRequest } from '../lib/api-error.ts'
import { isObject, toBoolean, toInputs, toInteger, toObject, toStop, type Body } from '../lib/fields.ts'
import { toMessage } from '../lib/messages.ts'
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

/** The worker routes requests to their replica, under whatever name the client used, so any name is accepted. */
function checkModel(body: Body): void {
  const model = body['model'] ?? ''
  if (typeof model !== 'string') throw badRequest("'model' must be a string.", 'model')
}

/** Token numbers mean nothing here; written out they are a text like any other. */
function toTexts(value: unknown, param: string): string[] {
  return toInputs(value, param).map((input) => (typeof input === 'string' ? input : input.join(' ')))
}
