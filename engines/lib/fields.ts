import { badRequest } from './api-error.ts'

export type Body = Record<string, unknown>

const MOST_STOPS = 16
const LONGEST_STOP = 1024

/** A text, a list of texts, a list of token numbers, or a list of such lists: all forms that OpenAI accepts. */
export function toInputs(value: unknown, param: string): (string | number[])[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) {
    if (value.every((item) => typeof item === 'string')) return value
    if (isTokens(value)) return [value]
    if (value.every(isTokens)) return value
  }
  throw badRequest(`'${param}' must be a string or a list of strings.`, param)
}

function isTokens(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => Number.isSafeInteger(item))
}

export function toStop(value: unknown): string[] {
  if (value === undefined || value === null) return []
  const stops: unknown[] = Array.isArray(value) ? value : [value]
  const fits = (stop: unknown): stop is string => typeof stop === 'string' && stop !== '' && stop.length <= LONGEST_STOP
  if (stops.length <= MOST_STOPS && stops.every(fits)) return stops
  throw badRequest(`'stop' must be a non-empty string or a list of at most ${MOST_STOPS} of them.`, 'stop')
}

export function toInteger(body: Body, name: string, least: number, most: number): number | undefined {
  const value = body[name]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return value
  const range =
    most === Number.MAX_SAFE_INTEGER ? (least === -most ? '' : ` of at least ${least}`) : ` from ${least} to ${most}`
  throw badRequest(`'${name}' must be a whole number${range}.`, name)
}

export function toNumber(body: Body, name: string, least: number, most: number): number | undefined {
  const value = body[name]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && value >= least && value <= most) return value
  throw badRequest(`'${name}' must be a number from ${least} to ${most}.`, name)
}

export function toBoolean(body: Body, name: string, param = name): boolean {
  const value = body[name] ?? false
  if (typeof value === 'boolean') return value
  throw badRequest(`'${param}' must be true or false.`, param)
}

export function toObject(value: unknown): Body {
  if (isObject(value)) return value
  throw badRequest('The body must be a JSON object.')
}

export function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
