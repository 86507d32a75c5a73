import type { Selector } from '../../../../src/core/types.ts'

/**
 * A selector as pairs of texts, which chips can show: a list is `a,b`, anything but a value is `!value`, and a key
 * `!key` asks for nodes without the label. What these marks would hide is written as JSON.
 */
export function pairsOf(selector: unknown): Record<string, string> {
  // What is stored may come from an older or a newer version; a page that cannot be opened would be worse.
  if (typeof selector !== 'object' || selector === null || Array.isArray(selector)) return {}
  return Object.fromEntries(Object.entries(selector).map(([key, wanted]) => [key, valueText(wanted)]))
}

export function selectorOf(pairs: Readonly<Record<string, string>>): Selector {
  return Object.fromEntries(Object.entries(pairs).map(([key, text]) => [key, wantedOf(text)]))
}

/** `tier=fast`, `zone=a,b`, `!spot`: one pair as it is shown. */
export function pairText(key: string, text: string): string {
  return key.startsWith('!') && text === '' ? key : `${key}=${text}`
}

function valueText(wanted: unknown): string {
  if (typeof wanted === 'string') return isPlain(wanted) && !wanted.includes(',') ? wanted : JSON.stringify(wanted)
  if (!isTexts(wanted)) return JSON.stringify(wanted) ?? ''
  const isSimple = wanted.length > 1 && wanted.every((one) => one !== '' && isPlain(one) && !one.includes(','))
  return isSimple ? wanted.join(',') : JSON.stringify(wanted)
}

/** Reads back as it is. */
function isPlain(text: string): boolean {
  return text === text.trim() && !text.startsWith('"') && !text.startsWith('[')
}

function wantedOf(text: string): string | readonly string[] {
  const json = jsonOf(text)
  if (json !== undefined) return json
  const values = text.split(',').map((one) => one.trim())
  const some = values.filter((one) => one !== '')
  if (values.length === 1 || some.length === 0) return text
  return some.length === 1 ? some[0]! : some
}

function jsonOf(text: string): string | readonly string[] | undefined {
  if (!text.startsWith('"') && !text.startsWith('[')) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'string' || isTexts(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}
