export type Fields = Readonly<Record<string, unknown>>

/** The JSON object or list in a tool's output; several of them print warnings before or after it. */
export function parseLooseJson(text: string): unknown {
  const spans = [
    { from: text.indexOf('{'), to: text.lastIndexOf('}') },
    { from: text.indexOf('['), to: text.lastIndexOf(']') },
  ].filter(({ from, to }) => from >= 0 && to > from)
  // The first bracket opens the whole, unless it belongs to a warning: `[WARNING] … {…}`.
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    try {
      return JSON.parse(text.slice(from, to + 1)) as unknown
    } catch {
      continue
    }
  }
  return null
}

export function asFields(value: unknown): Fields | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The first of the named fields with a value, as text. Names differ in case between versions of a tool. */
export function textOf(fields: Fields, names: readonly string[]): string | null {
  for (const name of names) {
    const key = Object.hasOwn(fields, name) ? name : Object.keys(fields).find((key) => key.toLowerCase() === name)
    const value = key === undefined ? undefined : fields[key]
    if (typeof value === 'number' && Number.isFinite(value)) return String(value)
    if (typeof value === 'string' && value.trim() !== '' && !/^(n\/a|unknown|none)$/i.test(value.trim()))
      return value.trim()
  }
  return null
}
