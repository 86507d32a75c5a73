import { badRequest } from '../../lib/api-error.ts'
import { isObject } from '../../lib/fields.ts'

/** The required format of an answer. */
export type AnswerFormat = { kind: 'text' } | { kind: 'json' } | { kind: 'schema'; schema: object }

const PARAM = 'response_format'

export function readFormat(value: unknown): AnswerFormat {
  if (value === undefined || value === null) return { kind: 'text' }
  const type = isObject(value) ? value['type'] : undefined
  if (type === 'text') return { kind: 'text' }
  if (type === 'json_object') return { kind: 'json' }
  if (type !== 'json_schema' || !isObject(value)) {
    throw badRequest("'response_format.type' must be 'text', 'json_object' or 'json_schema'.", PARAM)
  }
  const given = value['json_schema']
  const schema = isObject(given) ? given['schema'] : undefined
  if (!isObject(schema)) throw badRequest("'response_format.json_schema.schema' must be an object.", PARAM)
  return { kind: 'schema', schema: toGrammarSchema(schema, PARAM) }
}

/** Keywords that the grammar cannot enforce: refused, rather than silently ignored. */
const UNSUPPORTED = ['allOf', 'not', 'if', 'pattern', 'patternProperties', 'dependentSchemas', 'contains']
const DEEPEST = 64

/** The schema in the subset that the library's grammar supports. Anything else is refused. */
export function toGrammarSchema(schema: Record<string, unknown>, param: string, depth = 0): object {
  if (depth > DEEPEST) throw badRequest(`The schema is nested more than ${DEEPEST} deep.`, param)
  const missing = UNSUPPORTED.find((word) => schema[word] !== undefined)
  if (missing !== undefined) throw badRequest(`This engine does not support '${missing}' in a schema.`, param)
  const { anyOf, definitions, $ref, ...rest } = schema
  const converted: Record<string, unknown> = {}
  for (const [word, value] of Object.entries({
    ...rest,
    ...(anyOf !== undefined && { oneOf: anyOf }),
    ...(definitions !== undefined && { $defs: definitions }),
  })) {
    converted[word] = convert(word, value, param, depth)
  }
  if (typeof $ref === 'string') converted['$ref'] = $ref.replace(/^#\/definitions\//, '#/$defs/')
  return converted
}

function convert(word: string, value: unknown, param: string, depth: number): unknown {
  const one = (inner: unknown): unknown => (isObject(inner) ? toGrammarSchema(inner, param, depth + 1) : inner)
  if (['properties', '$defs'].includes(word) && isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, one(inner)]))
  }
  if (['oneOf', 'prefixItems'].includes(word) && Array.isArray(value)) return value.map(one)
  return ['items', 'additionalProperties'].includes(word) ? one(value) : value
}
