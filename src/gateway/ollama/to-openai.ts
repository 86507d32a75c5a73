import type { OllamaChat, OllamaGenerate, OllamaMessage } from '../../api/ollama.ts'
import { AppError } from '../../platform/errors.ts'

/** A request in OpenAI's words: where it goes, and its body without the name of the model. */
export interface OpenAiAsk {
  path: '/v1/chat/completions' | '/v1/completions' | '/v1/embeddings'
  body: Record<string, unknown>
}

/** Pure: what a chat in Ollama's words is in OpenAI's. */
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
 * Pure: the same for a prompt. One that is raw, or is to be filled in the middle, is a text to go on with; any other is
 * what a user says, because engines put the template of the model around that.
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
    // The last record tells how many tokens there were.
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

/** Templates read `enable_thinking`, engines that know degrees `reasoning_effort`. */
function thinkingOf(think: OllamaChat['think']): Record<string, unknown> {
  if (think === undefined || think === null || think === '') return {}
  const isOn = think !== false
  const effort = typeof think === 'string' ? { reasoning_effort: think } : {}
  return { chat_template_kwargs: { enable_thinking: isOn }, ...effort }
}

/** Options that engines have as parameters of a request. Those of a load, such as `num_ctx`, belong to the model here. */
function parametersOf(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const parameters: Record<string, unknown> = {}
  for (const [option, names] of Object.entries(PARAMETERS)) {
    const value = options[option]
    if (value === undefined || value === null) continue
    // Negative is without end, which it is anyway.
    if (option === 'num_predict' && typeof value === 'number' && value < 0) continue
    for (const name of names) parameters[name] = value
  }
  return parameters
}

/** Some engines call the same thing by another name; each passes over what it does not know. */
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

/** Ollama's clients need not tell which call a result belongs to; OpenAI's must. */
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

  /** The one it names, else the first of that tool that has no result, else the first that has none. */
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
