/** Where a model comes from, without what in a URL may be a secret. */
export function sourceText(source: string | null): string {
  if (source === null) return '-'
  if (!URL.canParse(source) || !/^https?:/.test(source)) return source
  const url = new URL(source)
  url.username = ''
  url.password = ''
  url.search = ''
  return url.href
}
