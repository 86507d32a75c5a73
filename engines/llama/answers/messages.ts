import { badRequest } from '../../lib/api-error.ts'
import { isObject } from '../../lib/fields.ts'
import { toMessage } from '../../lib/messages.ts'

/** A message as chat templates read it: its content is a text, the arguments of its tool calls are values. */
export interface ChatMessage {
  role: string
  content: string
  [field: string]: unknown
}

const MOST_MESSAGES = 10_000

export function readMessages(value: unknown): ChatMessage[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MOST_MESSAGES) {
    throw badRequest(`'messages' must be a list of 1 to ${MOST_MESSAGES} messages.`, 'messages')
  }
  return value.map((message: unknown, index) => {
    const where = `messages[${index}]`
    refuseMedia(message, where)
    const { role, text } = toMessage(message, where)
    const fields = message as Record<string, unknown>
    const calls = fields['tool_calls']
    return {
      // OpenAI's newer name; no template knows it.
      role: role === 'developer' ? 'system' : role,
      content: text,
      ...(typeof fields['name'] === 'string' && { name: fields['name'] }),
      ...(typeof fields['tool_call_id'] === 'string' && { tool_call_id: fields['tool_call_id'] }),
      ...(Array.isArray(calls) && calls.length > 0 && { tool_calls: calls.map((call) => toCall(call, where)) }),
    }
  })
}

function refuseMedia(message: unknown, where: string): void {
  if (!isObject(message) || !Array.isArray(message['content'])) return
  for (const part of message['content']) {
    const type = isObject(part) ? part['type'] : undefined
    if (typeof type !== 'string' || type === 'text' || type === 'input_text') continue
    throw badRequest(`This engine reads text only, no '${type}'.`, `${where}.content`, 'unsupported_content')
  }
}

/** OpenAI sends arguments as JSON text; templates expect the value. */
function toCall(call: unknown, where: string): object {
  const asked = isObject(call) && isObject(call['function']) ? call['function'] : undefined
  if (!asked || typeof asked['name'] !== 'string') {
    throw badRequest(`'${where}.tool_calls' must be a list of calls of functions.`, `${where}.tool_calls`)
  }
  const given = asked['arguments'] ?? '{}'
  return { ...(call as object), function: { name: asked['name'], arguments: toArguments(given) } }
}

function toArguments(given: unknown): unknown {
  if (typeof given !== 'string') return given
  try {
    return JSON.parse(given) as unknown
  } catch {
    return given
  }
}
