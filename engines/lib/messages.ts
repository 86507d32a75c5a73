import { badRequest } from './api-error.ts'
import { isObject } from './fields.ts'

/** A chat message's role and text. Content of other types is named in the error, since it cannot be read. */
export function toMessage(message: unknown, where: string): { role: string; text: string } {
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
