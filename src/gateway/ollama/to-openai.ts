import type { OllamaChat, OllamaGenerate, OllamaMessage } from '../../api/ollama.ts'
import { AppError } from '../../platform/errors.ts'

/** A request of OpenAI's API: its path, and its body without the name of the model. */
export interface OpenAiAsk {
  path: '/v1/chat/completions' | '/v1/completions' | '/v1/embeddings'
  body: Record<string, unknown>
}

/** Pure: translates a chat of Ollama's API into OpenAI's. */
export function chatToOpenAi(asked: OllamaChat): OpenAiAsk {
  const { tools } = asked
  const body = {
    messages: messagesOf(asked.messages ?? []),
    ...(tools && tools.length > 0 ? { tools } : {}),
    ...commonOf(asked),
  }
  return { path: '/v1/chat/completions', body }
}

/**
 * Pure: the same for a prompt. A raw prompt, or one with a suffix, becomes a completion; any other becomes the message of a
 * user, because engines put the model's template around that.
 */
export function promptToOpenAi(asked: OllamaGenerate): OpenAiAsk {
  refuseUnknown(asked)
  const { prompt, suffix, system, images } = asked
  if (asked.raw || suffix) {
    const body = { prompt: prompt ?? '', ...(suffix ? { suffix } : {}), ...commonOf(asked) }
    return { path: '/v1/completions', body }
  }
  const said: OllamaMessage[] = system ? [{ role: 'system', content: system }] : []
  const messages = messagesOf([...said, { role: 'user', content: prompt, images }])
  return { path: '/v1/chat/completions', body: { messages, ...commonOf(asked) } }
}

function refuseUnknown({ template, context }: OllamaGenerate): void {
  if (template) {
    const text =
      '"template" cannot be honoured: engines use the template of the model. Send "raw": true with a prompt of your own instead.'
    throw new AppError('bad_request', text)
  }
  if (context && context.length > 0) {
    const text =
      '"context" cannot be honoured: no replica keeps a conversation. Send the messages so far to /api/chat instead.'
    throw new AppError('bad_request', text)
  }
}

function commonOf(asked: Pick<OllamaChat, 'stream' | 'format' | 'think' | 'options'>): Record<string, unknown> {
  const isStream = asked.stream ?? true
  return {
    stream: isStream,
    // Ollama's last record holds the token counts.
    ...(isStream ? { stream_options: { include_usage: true } } : {}),
    ...formatOf(asked.format),
    ...thinkingOf(asked.think),
    ...parametersOf(asked.options ?? {}),
  }
}

function formatOf(format: OllamaChat['format']): Record<string, unknown> {
  if (!format) return {}
  if (format === 'json') return { response_format: { type: 'json_object' } }
  const wanted = { name: 'answer', strict: true, schema: format }
  return { response_format: { type: 'json_schema', json_schema: wanted } }
}

/** Templates read `enable_thinking`; engines with levels of effort read `reasoning_effort`. */
function thinkingOf(think: OllamaChat['think']): Record<string, unknown> {
  if (think === undefined || think === null || think === '') return {}
  const isOn = think !== false
  const effort = typeof think === 'string' ? { reasoning_effort: think } : {}
  return { chat_template_kwargs: { enable_thinking: isOn }, ...effort }
}

/** Options that engines take per request. Options of a load, such as `num_ctx`, are settings of the model in Flotilla. */
function parametersOf(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const parameters: Record<string, unknown> = {}
  for (const [option, names] of Object.entries(PARAMETERS)) {
    const value = options[option]
    if (value === undefined || value === null) continue
    // Negative means no limit, which is the default.
    if (option === 'num_predict' && typeof value === 'number' && value < 0) continue
    for (const name of names) parameters[name] = value
  }
  return parameters
}

/** Some engines use another name for the same parameter; each ignores names that it does not know. */
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  num_predict: ['max_tokens'],
  temperature: ['temperature'],
  top_p: ['top_p'],
  top_k: ['top_k'],
  min_p: ['min_p'],
  typical_p: ['typical_p'],
  seed: ['seed'],
  stop: ['stop'],
  presence_penalty: ['presence_penalty'],
  frequency_penalty: ['frequency_penalty'],
  repeat_penalty: ['repeat_penalty', 'repetition_penalty'],
  repeat_last_n: ['repeat_last_n'],
}

function messagesOf(messages: readonly OllamaMessage[]): object[] {
  const calls = new Calls()
  return messages.map((message) => {
    const { role, images, tool_calls: called } = message
    if (role === 'tool') return { role, tool_call_id: calls.answered(message), content: message.content ?? '' }
    const content = images && images.length > 0 ? withImages(message.content ?? '', images) : (message.content ?? '')
    return called && called.length > 0 ? { role, content, tool_calls: calls.made(called) } : { role, content }
  })
}

/** Ollama's clients need not say which call a result belongs to; OpenAI's API requires it. */
class Calls {
  #made = 0
  readonly #open: { id: string; name: string }[] = []

  made(called: NonNullable<OllamaMessage['tool_calls']>): object[] {
    return called.map(({ id: given, function: { name, arguments: values } }) => {
      const id = given || `call_${(this.#made += 1)}`
      this.#open.push({ id, name })
      return { id, type: 'function', function: { name, arguments: JSON.stringify(values ?? {}) } }
    })
  }

  /** The call it names, else the first open call of that tool, else the first open call. */
  answered({ tool_call_id: id, tool_name: name }: OllamaMessage): string {
    const ofTool = this.#open.findIndex((call) => (id ? call.id === id : call.name === name))
    const at = ofTool === -1 ? 0 : ofTool
    return this.#open.splice(at, 1)[0]?.id ?? id ?? name ?? 'call_0'
  }
}

function withImages(text: string, images: readonly string[]): object[] {
  const shown = images.map((image) => ({ type: 'image_url', image_url: { url: imageUrl(image) } }))
  return [...(text === '' ? [] : [{ type: 'text', text }]), ...shown]
}

function imageUrl(image: string): string {
  if (image.startsWith('data:')) return image
  const [, type = 'jpeg'] = IMAGE_TYPES.find(([beginning]) => image.startsWith(beginning)) ?? []
  return `data:image/${type};base64,${image}`
}

/** How files of each type begin, in base64. */
const IMAGE_TYPES = [
  ['iVBOR', 'png'],
  ['R0lG', 'gif'],
  ['UklG', 'webp'],
] as const
