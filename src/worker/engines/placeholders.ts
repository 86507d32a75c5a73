/** Values by the names of their placeholders; one that is not here has no value. */
export type PlaceholderValues = ReadonlyMap<string, string>

/** Those that only a model's source gives a value. */
export const SOURCE_PLACEHOLDERS: ReadonlySet<string> = new Set(['model_path', 'source', 'source_name'])
/** Placeholders whose values are Flotilla's to give: a model must not make an engine listen elsewhere. */
export const OWN_PLACEHOLDERS: ReadonlySet<string> = new Set([
  ...SOURCE_PLACEHOLDERS,
  'host',
  'port',
  'model',
  'program',
  'context_total',
])

const PLACEHOLDER = /\{\{\s*([\w.-]+)\s*\}\}/g

/**
 * The text with each `{{name}}` replaced, or the first name that has no value. One pass: what a value says is never
 * taken for a placeholder.
 */
export function fillIn(
  text: string,
  values: PlaceholderValues,
): { text: string; missing?: undefined } | { missing: string } {
  let missing: string | undefined
  const filled = text.replaceAll(PLACEHOLDER, (_, name: string) => {
    const value = values.get(name)
    if (value === undefined) missing ??= name
    return value ?? ''
  })
  return missing === undefined ? { text: filled } : { missing }
}

export function placeholdersIn(text: string): string[] {
  return [...text.matchAll(PLACEHOLDER)].map(([, name]) => name!)
}
