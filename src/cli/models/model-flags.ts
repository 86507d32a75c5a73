import { resolve } from 'node:path'
import { modelInput, type ModelInput } from '../../api/admin/model-schemas.ts'
import { parseSource } from '../../model-files/source/source.ts'
import { AppError, messageOf } from '../../platform/errors.ts'
import type { Given } from '../client.ts'
import { plain } from '../terminal/text-width.ts'
import { parseMemory } from './memory-flag.ts'

/** What the flags of `models add` and `models set` say; their values are read in one way. */

export type OptionValue = ModelInput['options'][string]

/** The word that resets what a flag has set. */
export const NONE = 'none'

/** The options that `--option`, `--context` and `--parallel` name; null takes one back, where that is allowed. */
export function readOptions(
  { own, lists }: Pick<Given, 'own' | 'lists'>,
  command: string,
  mayClear = false,
): Record<string, OptionValue | null> {
  const options = Object.fromEntries((lists.get('option') ?? []).map((text) => parseOption(text, command, mayClear)))
  for (const name of ['context', 'parallel']) {
    const text = own.get(name)
    if (text === undefined) continue
    if (name in options) throw mistake(command, `give --${name} or --option ${name}=…, not both`)
    if (mayClear && text === NONE) {
      options[name] = null
      continue
    }
    if (!/^[1-9]\d{0,8}$/.test(text)) {
      throw mistake(command, `--${name}: expected a whole number${mayClear ? ' or none' : ''}, got "${plain(text)}"`)
    }
    options[name] = Number(text)
  }
  return options
}

/** Finds mistakes that are visible without looking at any file. */
export function readSource(text: string | undefined, command: string): string | null {
  if (text === undefined || text.startsWith('ollama:')) return text ?? null
  if (!/^[a-z]{2,}:/.test(text)) {
    throw mistake(command, `--source: a file on the nodes themselves is written file:${plain(resolve(text))}`)
  }
  try {
    parseSource(text)
  } catch (error) {
    throw mistake(command, plain(messageOf(error)).replace(/\.$/, ''))
  }
  return text
}

export function readMemory(text: string | undefined, command: string): ModelInput['memory'] {
  if (text === undefined) return null
  const memory = parseMemory(text)
  if (memory) return memory
  throw mistake(command, `--memory: expected a size such as 12GiB, or vram=12GiB,ram=2GiB, got "${plain(text)}"`)
}

export function toInput(fields: object, command: string): ModelInput {
  const parsed = modelInput.safeParse(fields)
  if (parsed.success) return parsed.data
  const { path, message } = parsed.error.issues[0]!
  throw mistake(command, `${path.map(String).join('.')}: ${message}`)
}

export function mistake(command: string, what: string): AppError {
  return new AppError('usage', `flotilla models ${command}: ${what}.`)
}

/** Numbers and booleans become what they look like; in quotes of its own a value stays text. */
function parseOption(text: string, command: string, mayClear: boolean): [string, OptionValue | null] {
  const at = text.indexOf('=')
  if (mayClear && at < 0 && text.length > 1 && text.endsWith('-')) return [text.slice(0, -1), null]
  if (at <= 0) {
    const expected = mayClear ? 'key=value, or key- to take it back' : 'key=value'
    throw mistake(command, `--option: expected ${expected}, got "${plain(text)}"`)
  }
  const value = text.slice(at + 1)
  const isNumber = value !== '' && String(Number(value)) === value && Number.isFinite(Number(value))
  const isText = /^"(.*)"$/s.exec(value)?.[1]
  const meant = isText ?? (isNumber ? Number(value) : value === 'true' ? true : value === 'false' ? false : value)
  return [text.slice(0, at), meant]
}
