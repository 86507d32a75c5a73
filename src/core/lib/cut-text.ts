const MARK = '…'

/** The beginning of a text that is longer than `most` characters, with a mark at its end; no character is split. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text
  const end = most - MARK.length
  const isSplit = /[\uD800-\uDBFF]/.test(text[end - 1] ?? '')
  return `${text.slice(0, isSplit ? end - 1 : end)}${MARK}`
}
