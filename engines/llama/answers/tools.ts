import { badRequest } from '../../lib/api-error.ts'
import { isObject, type Body } from '../../lib/fields.ts'
import { toGrammarSchema } from './answer-format.ts'

/** The functions that an answer may call. */
export interface ToolUse {
  /** As the client gave them: templates write them out. */
  tools: object[]
  names: string[]
  /** The schema of the call that the answer must be, when the client demands one. */
  forced: object | undefined
}

const MOST_TOOLS = 256

export function readTools(body: Body): ToolUse | undefined {
  const given = body['tools'] ?? []
  if (!Array.isArray(given) || given.length > MOST_TOOLS) {
    throw badRequest(`'tools' must be a list of at most ${MOST_TOOLS} tools.`, 'tools')
  }
  const choice = body['tool_choice'] ?? 'auto'
  if (given.length === 0) {
    if (choice === 'auto' || choice === 'none') return undefined
    throw badRequest("'tool_choice' needs 'tools'.", 'tool_choice')
  }
  const functions = given.map((tool: unknown, index) => toFunction(tool, `tools[${index}]`))
  if (choice === 'none') return undefined
  return { tools: given as object[], names: functions.map(({ name }) => name), forced: toForced(choice, functions) }
}

interface ToolFunction {
  name: string
  parameters: Record<string, unknown>
}

function toFunction(tool: unknown, where: string): ToolFunction {
  const asked = isObject(tool) && tool['type'] === 'function' ? tool['function'] : undefined
  if (!isObject(asked) || typeof asked['name'] !== 'string' || asked['name'] === '') {
    throw badRequest(`'${where}' must be a function with a name.`, where)
  }
  const parameters = asked['parameters'] ?? { type: 'object' }
  if (!isObject(parameters)) throw badRequest(`'${where}.function.parameters' must be an object.`, where)
  return { name: asked['name'], parameters }
}

function toForced(choice: unknown, functions: readonly ToolFunction[]): object | undefined {
  if (choice === 'auto') return undefined
  const named = isObject(choice) && isObject(choice['function']) ? choice['function']['name'] : undefined
  const allowed = choice === 'required' ? functions : functions.filter(({ name }) => name === named)
  if (allowed.length === 0) {
    throw badRequest("'tool_choice' must be 'auto', 'none', 'required' or one of the functions.", 'tool_choice')
  }
  const calls = allowed.map(({ name, parameters }) => ({
    type: 'object',
    properties: { name: { const: name }, arguments: toGrammarSchema(parameters, 'tools') },
    required: ['name', 'arguments'],
  }))
  return calls.length === 1 ? calls[0] : { oneOf: calls }
}
