export type Options = Record<string, string | number | boolean>

/**
 * The options whose values are sources (a projector, an adapter, a draft model): name and source. A URL counts only if
 * it ends like a file, because some options hold URLs of servers.
 */
export function companionsOf(options: Options): [string, string][] {
  return Object.entries(options).flatMap(([name, value]) =>
    typeof value === 'string' && isCompanion(value) ? [[name, value]] : [],
  )
}

function isCompanion(value: string): boolean {
  if (/^(hf:|file:\/|frontend:)\S/.test(value)) return true
  if (!/^https?:\/\//.test(value)) return false
  return value.includes('#sha256=') || /\/[^/]+\.[a-z][a-z0-9]{0,15}$/i.test(URL.parse(value)?.pathname ?? '')
}
