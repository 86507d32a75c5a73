import type { ModelView } from '../../../../src/api/admin/model-schemas.ts'

type OptionValue = ModelView['options'][string]

/** An option as it is typed: numbers and booleans bare, and text in quotes only where it would be taken for one of these. */
export function optionText(value: OptionValue): string {
  if (typeof value !== 'string') return String(value)
  return optionOf(value) === value ? value : JSON.stringify(value)
}

/** What is typed, as what it looks like: `8192`, `0.9`, `true`, `q8_0`, `"8192"`. */
export function optionOf(typed: string): OptionValue {
  const text = typed.trim()
  if (text === 'true' || text === 'false') return text === 'true'
  if (text.startsWith('"')) return quoted(text) ?? text
  // Only numbers that are written back the same way: `007` and `1e400` are texts.
  return text !== '' && Number.isFinite(Number(text)) && String(Number(text)) === text ? Number(text) : text
}

export function optionTexts(options: ModelView['options']): Record<string, string> {
  return Object.fromEntries(Object.entries(options).map(([key, value]) => [key, optionText(value)]))
}

export function optionsOf(texts: Readonly<Record<string, string>>): ModelView['options'] {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, optionOf(text)]))
}

function quoted(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}
