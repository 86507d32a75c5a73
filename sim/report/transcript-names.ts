const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
/** A machine says both: its name and the id that the cluster has given it. */
const SAID_OF_ITSELF = /"node":"(n\d+)","id":"([0-9a-f-]{36})"/
const JOINED = / (n\d+) joined with .*"node":"([0-9a-f-]{36})"/

/**
 * Ids of nodes become their names, all others r1, r2, … in the order in which they are seen first; what the log adds to a
 * line as JSON becomes words. Returns how to do the same to other texts about that run.
 */
export function nameIds(lines: readonly string[]): (text: string) => string {
  const names = new Map<string, string>()
  for (const line of lines) {
    const [, name, id] = SAID_OF_ITSELF.exec(line) ?? JOINED.exec(line) ?? []
    if (name && id) names.set(id, name)
  }
  let replicas = 0
  const nameOf = (id: string): string => {
    const known = names.get(id)
    if (known !== undefined) return known
    replicas += 1
    names.set(id, `r${replicas}`)
    return `r${replicas}`
  }
  return (text) => inWords(text.replaceAll(UUID, nameOf))
}

/** Whom an event is told of is in its text already. */
const LEFT_OUT = new Set(['action', 'actor'])

function inWords(line: string): string {
  const start = line.indexOf(' {')
  if (start === -1 || !line.endsWith('}')) return line
  try {
    const fields = Object.entries(JSON.parse(line.slice(start)) as Record<string, unknown>)
    const words = fields.flatMap(([key, value]) => (LEFT_OUT.has(key) ? [] : fieldText(key, value)))
    return words.length === 0 ? line.slice(0, start) : `${line.slice(0, start)} (${words.join(', ')})`
  } catch {
    return line
  }
}

function fieldText(key: string, value: unknown): string[] {
  if (value === null || value === false) return []
  if (typeof value === 'object' && Object.keys(value).length === 0) return []
  const text =
    typeof value === 'string' ? value.replaceAll(/\s*\n\s*/g, '; ') : JSON.stringify(value).replaceAll('"', '')
  return [`${key.replaceAll('_', ' ')} ${text}`]
}
