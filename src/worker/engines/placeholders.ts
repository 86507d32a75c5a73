/** Values by placeholder name; a name that is missing has no value. */
export type PlaceholderValues = ReadonlyMap<string, string>

/** Placeholders to which only a model's source gives a value. */
export const SOURCE_PLACEHOLDERS: ReadonlySet<string> = new Set(['model_path', 'source', 'source_name'])
/** Placeholders that Flotilla sets itself: a model must not make an engine listen on another address. */
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
 * The text with each `{{name}}` replaced, or the first name without a value. One pass: a value is never searched for
 * placeholders.
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
