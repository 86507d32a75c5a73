import { isObject } from '../../lib/fields.ts'

export interface ToolCall {
  name: string
  /** The text of a JSON value, as OpenAI sends it. */
  arguments: string
}

/** How models begin a call, in the formats that the usual chat templates teach. */
export const toolMarkers = ['<tool_call>', '[TOOL_CALLS]', '<|python_tag|>', '<function='] as const

const MOST_CALLS = 128

/**
 * Parses the calls of a text, from its first marker on; a bare object with a name and arguments is one too. Undefined
 * when it does not consist of calls of known functions: then it is normal text.
 */
export function parseToolCalls(text: string, names: readonly string[]): ToolCall[] | undefined {
  const bare = text.replace(/^\s*(\[TOOL_CALLS\]|<\|python_tag\|>)/, '').trimStart()
  // The beginning of the text decides: arguments may contain tags.
  const calls = /^[[{]/.test(bare) ? readJsonCalls(bare) : readTagged(text)
  if (!calls || calls.length === 0 || calls.length > MOST_CALLS) return undefined
  return calls.every(({ name }) => names.includes(name)) ? calls : undefined
}

/** `<tool_call>{…}</tool_call>`, `<function=name>{…}</function>` and `[TOOL_CALLS]name[ARGS]{…}`, any number of them. */
function readTagged(text: string): ToolCall[] | undefined {
  if (/^\s*(<tool_call>\s*)?(<function=|\[TOOL_CALLS\])/.test(text)) {
    const named = [...text.matchAll(/(?:<function=|\[TOOL_CALLS\])([\w.-]+)(?:>|\[ARGS\])/g)]
    return allOf(
      named.map(({ 0: tag, 1: name = '', index }) => {
        const [given] = readJsonValues(text.slice(index + tag.length)) ?? []
        return given === undefined ? undefined : { name, arguments: JSON.stringify(given) }
      }),
    )
  }
  const tagged = text.split('<tool_call>').slice(1)
  if (tagged.length === 0) return undefined
  return allOf(tagged.map((inner) => readJsonCalls(inner)?.[0]))
}

function readJsonCalls(text: string): ToolCall[] | undefined {
  return allOf((readJsonValues(text) ?? []).flat().map(toCall))
}

function toCall(value: unknown): ToolCall | undefined {
  if (!isObject(value) || typeof value['name'] !== 'string') return undefined
  const given = value['arguments'] ?? value['parameters']
  if (given === undefined) return undefined
  return { name: value['name'], arguments: typeof given === 'string' ? given : JSON.stringify(given) }
}

/** The objects and lists at the beginning of a text. The text after them is ignored. */
function readJsonValues(text: string): unknown[] | undefined {
  const values: unknown[] = []
  let rest = text.trimStart()
  while (/^[[{]/.test(rest)) {
    const end = endOfValue(rest)
    if (end === undefined) return undefined
    try {
      values.push(JSON.parse(rest.slice(0, end)))
    } catch {
      return undefined
    }
    rest = rest.slice(end).replace(/^[\s;,]+/, '')
  }
  return values
}

/** Where the object or list that a text begins with ends; strings may contain brackets. */
function endOfValue(text: string): number | undefined {
  let depth = 0
  let isInString = false
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]
    if (isInString) {
      if (char === '\\') at += 1
      else if (char === '"') isInString = false
    } else if (char === '"') isInString = true
    else if (char === '{' || char === '[') depth += 1
    else if (char === '}' || char === ']') {
      depth -= 1
      if (depth === 0) return at + 1
    }
  }
  return undefined
}

function allOf<T>(values: readonly (T | undefined)[]): T[] | undefined {
  const there = values.filter((value): value is T => value !== undefined)
  return there.length === values.length ? there : undefined
}
